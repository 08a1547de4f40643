/** What a host tells of its work with its heartbeats, if there is news. For people and their pages: no rule depends on it. At most 1 KB as JSON. */
export interface HostSummary {
  readonly host: string
  /** Epoch ms, by the host's clock. */
  readonly atMs: number
  /** When this host joined the group, epoch ms. The counts are since then: they begin again when it has to join again. */
  readonly sinceMs: number
  /** Changes that its observers accepted. */
  readonly changes: number
  /** Calls in which they accepted them. */
  readonly batches: number
  /** Changes a second, since the summary before. */
  readonly changesPerS: number
  /** Duration of those calls over the last minute, ms. Absent = there was none. */
  readonly batchMs?: { readonly p50: number; readonly p99: number } | undefined
  /** Calls of observers, and reads of the feed, that failed. */
  readonly errors: number
  readonly deadLetters: number
  /** Absent = there was none. */
  readonly lastError?:
    | {
        readonly atMs: number
        readonly leaseId: string
        readonly code?: string | undefined
        /** Cut to 200 characters. */
        readonly message: string
      }
    | undefined
  /** Leases that stand still until they are released, or behind a horizon: as many as there is room for. */
  readonly halted: readonly string[]
}

/** What became of a lease, as the host tells that had it. */
export interface LeaseTransition {
  /** Epoch ms, by the host's clock. */
  readonly atMs: number
  readonly host: string
  readonly leaseId: string
  readonly epoch: number
  /**
   * `released`: given back, for others. `lost`: another host may have it. A host that died tells nothing: that its lease was
   * taken over shows by the next `acquired`. `split`, `cut`, `joined`: leases in `next` replaced it.
   */
  readonly kind: LeaseTransitionKind
  /** Why it was released or lost, in the words of the host's events. */
  readonly reason?: string | undefined
  readonly next?: readonly string[] | undefined
}

/** What happened to a lease. A split range's lease is `split`, one that was divided to have more leases is `cut`. */
export type LeaseTransitionKind = 'acquired' | 'released' | 'lost' | 'split' | 'cut' | 'joined'

export interface HostNote {
  readonly summary: HostSummary
  /** Since the last note, oldest first. */
  readonly transitions: readonly LeaseTransition[]
}

/** Transitions that a lease store keeps of a group: those of 20 hosts that take 1,000 leases are half of it. */
export const TRANSITIONS_KEPT = 2_000

/** In the order of their times, each once: hosts tell late, and they tell again what was kept without an answer. */
export function inTimeOrder(told: readonly LeaseTransition[]): readonly LeaseTransition[] {
  const distinct = new Map(told.map((transition) => [JSON.stringify(transition), transition]))
  return [...distinct.values()].sort((a, b) => a.atMs - b.atMs)
}

const KINDS: ReadonlySet<unknown> = new Set<LeaseTransitionKind>([
  'acquired',
  'released',
  'lost',
  'split',
  'cut',
  'joined',
])

/** Whether it is what a host told: others may have written over it. */
export function isHostSummary(value: unknown): value is HostSummary {
  return (
    isObject(value) &&
    isText(value['host']) &&
    ['atMs', 'sinceMs', 'changes', 'batches', 'changesPerS', 'errors', 'deadLetters'].every(
      (name) => isNumber(value[name]),
    ) &&
    isOptional(
      value['batchMs'],
      (ms) => isObject(ms) && isNumber(ms['p50']) && isNumber(ms['p99']),
    ) &&
    isOptional(value['lastError'], isLastError) &&
    isTexts(value['halted'])
  )
}

/** For stores, which read what another release may have written. */
export function isLeaseTransition(value: unknown): value is LeaseTransition {
  return (
    isObject(value) &&
    isNumber(value['atMs']) &&
    isText(value['host']) &&
    isText(value['leaseId']) &&
    isNumber(value['epoch']) &&
    KINDS.has(value['kind']) &&
    isOptional(value['reason'], isText) &&
    isOptional(value['next'], isTexts)
  )
}

function isLastError(value: unknown): boolean {
  return (
    isObject(value) &&
    isNumber(value['atMs']) &&
    isText(value['leaseId']) &&
    isOptional(value['code'], isText) &&
    isText(value['message'])
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText)
}

function isOptional(value: unknown, rule: (value: unknown) => boolean): boolean {
  return value === undefined || rule(value)
}
