import {
  checkedGroupName,
  inTimeOrder,
  systemClock,
  systemRandom,
  TRANSITIONS_KEPT,
  type AcquiredLease,
  type CheckpointOutcome,
  type Clock,
  type ClaimFeedOptions,
  type GroupFeed,
  type HostNote,
  type HostSummary,
  type Lease,
  type LeaseGroup,
  type LeaseGroupSnapshot,
  type LeaseHint,
  type LeaseLoss,
  type LeaseStore,
  type LeaseTransition,
  type RequestOptions,
  type NewLease,
  type PlanRequest,
  type Random,
  type ReconcileReply,
  type SyncReply,
  type SyncRequest,
} from '@tidemark/contracts'
import { checkOptions, option, type OptionRules } from '@tidemark/contracts/internal'
import {
  applyChanges,
  readGroup,
  type LeaseGroupState,
  type LeaseGroupStep,
} from './lease-group-state.ts'
import { SUMMARIES_KEPT, withSummary, withTransitions } from './kept-notes.ts'
import { LeaseMemory, type MemoryGroup } from './lease-memory.ts'
import {
  claimGroupFeed,
  createLeases,
  declareLeasesLost,
  discardLeases,
} from './lease-set-model.ts'
import { planGroup, setGroupPaused, syncGroup } from './membership-model.ts'
import {
  acquireLeases,
  checkpointLeases,
  reconcileLeases,
  releaseLeases,
} from './ownership-model.ts'
import { overrideLeases, replaceLeases } from './replace-model.ts'

type Notes = Pick<LeaseGroup, 'note' | 'readSummaries' | 'readTransitions'>

/** The operations of a lease group that a fault can hit. */
export type LeaseOperation =
  | 'openGroup'
  | 'listGroups'
  | Exclude<keyof LeaseGroup, 'group' | keyof Notes | 'subscribe' | 'close'>

/** One call on its way. */
export interface LeaseCall {
  readonly operation: LeaseOperation
  /** Empty for `listGroups`. */
  readonly group: string
  /** Of the calling host, where the request says it. */
  readonly host: string | undefined
  readonly signal: AbortSignal | undefined
}

/** Where tests put faults. Both may wait, and both may throw. */
export interface LeaseCallHooks {
  /** Before the store sees the request: throwing loses the request. @default nothing */
  before?: ((call: LeaseCall) => Promise<void> | void) | undefined
  /** After the operation happened: throwing loses the reply. @default nothing */
  after?: ((call: LeaseCall) => Promise<void> | void) | undefined
}

export interface MemoryLeaseStoreOptions {
  /** Store time is its wall time. @default the system's */
  clock?: Clock | undefined
  /** Makes generations. @default the system's */
  random?: Random | undefined
  /** Faults for tests. @default none */
  hooks?: LeaseCallHooks | undefined
}

/** With what only tests set: see `leaseStoreOn`. */
interface OptionsWithMemory extends MemoryLeaseStoreOptions {
  memory?: LeaseMemory | undefined
}

const RULES: OptionRules<OptionsWithMemory> = {
  clock: option.clock,
  random: option.random,
  hooks: option.anything,
  memory: option.anything,
}

/**
 * Leases in this process, shared by the hosts that are given the same store. For tests, simulation
 * and single-process programs: everything is gone when the process ends.
 *
 * It is the pure lease-group model with nothing around it, so that what other stores do differently
 * is their fault.
 */
export class MemoryLeaseStore implements LeaseStore {
  readonly description: string = 'leases in memory'
  readonly endsWithProcess: boolean = true
  readonly #clock: Clock
  readonly #hooks: LeaseCallHooks
  readonly #memory: LeaseMemory

  /** @throws ERR_INVALID_OPTION naming the option */
  constructor(options: MemoryLeaseStoreOptions = {}) {
    checkOptions(options, RULES)
    const { clock = systemClock, random = systemRandom, hooks = {} } = options
    const { memory = new LeaseMemory(random) }: OptionsWithMemory = options
    this.#clock = clock
    this.#hooks = hooks
    this.#memory = memory
  }

  async openGroup(group: string, { signal }: RequestOptions = {}): Promise<LeaseGroup> {
    checkedGroupName(group)
    const call: LeaseCall = { operation: 'openGroup', group, host: undefined, signal }
    await passThrough(this.#hooks.before, call)
    const memory = this.#memory.open(group)
    await passThrough(this.#hooks.after, call)
    return new MemoryLeaseGroup(group, memory, { clock: this.#clock, hooks: this.#hooks })
  }

  async listGroups({ signal }: RequestOptions = {}): Promise<readonly string[]> {
    const call: LeaseCall = { operation: 'listGroups', group: '', host: undefined, signal }
    await passThrough(this.#hooks.before, call)
    const groups = [...this.#memory.snapshot()]
      .filter(([, { leases }]) => leases.size > 0)
      .map(([group]) => group)
      .sort()
    await passThrough(this.#hooks.after, call)
    return groups
  }
}

/** A store whose memory tests hold in their hands. */
export function leaseStoreOn(
  memory: LeaseMemory,
  options: MemoryLeaseStoreOptions = {},
): MemoryLeaseStore {
  const withMemory: OptionsWithMemory = { ...options, memory }
  return new MemoryLeaseStore(withMemory)
}

interface GroupContext {
  readonly clock: Clock
  readonly hooks: LeaseCallHooks
}

class MemoryLeaseGroup implements LeaseGroup {
  readonly group: string
  readonly #memory: MemoryGroup
  readonly #context: GroupContext
  readonly #listeners = new Set<(hint: LeaseHint) => void>()

  constructor(group: string, memory: MemoryGroup, context: GroupContext) {
    this.group = group
    this.#memory = memory
    this.#context = context
  }

  sync(request: SyncRequest, signal?: AbortSignal): Promise<SyncReply> {
    return this.#run('sync', request.host, signal, (state, nowUs) =>
      syncGroup(state, request, nowUs),
    )
  }

  create(leases: readonly NewLease[], signal?: AbortSignal): Promise<readonly Lease[]> {
    return this.#run('create', undefined, signal, (state, nowUs) =>
      createLeases(state, leases, nowUs),
    )
  }

  read(signal?: AbortSignal): Promise<LeaseGroupSnapshot> {
    return this.#run('read', undefined, signal, (state) => ({
      changes: {},
      reply: readGroup(state),
    }))
  }

  claimFeed(feed: GroupFeed, { insteadOf, signal }: ClaimFeedOptions = {}): Promise<GroupFeed> {
    return this.#run('claimFeed', undefined, signal, ({ head }) =>
      claimGroupFeed(head, feed, insteadOf),
    )
  }

  plan(request: PlanRequest, signal?: AbortSignal): Promise<boolean> {
    return this.#run('plan', undefined, signal, (state) => planGroup(state, request))
  }

  acquire(
    request: Parameters<LeaseGroup['acquire']>[0],
    signal?: AbortSignal,
  ): Promise<readonly AcquiredLease[]> {
    return this.#run('acquire', request.host, signal, (state, nowUs) =>
      acquireLeases(state, request, nowUs),
    )
  }

  checkpoint(
    request: Parameters<LeaseGroup['checkpoint']>[0],
    signal?: AbortSignal,
  ): Promise<readonly CheckpointOutcome[]> {
    return this.#run('checkpoint', request.host, signal, ({ leases }, nowUs) =>
      checkpointLeases(leases, request, nowUs),
    )
  }

  release(
    request: Parameters<LeaseGroup['release']>[0],
    signal?: AbortSignal,
  ): Promise<readonly ('released' | 'lost')[]> {
    return this.#run('release', request.host, signal, ({ leases }, nowUs) =>
      releaseLeases(leases, request, nowUs),
    )
  }

  replace(
    request: Parameters<LeaseGroup['replace']>[0],
    signal?: AbortSignal,
  ): Promise<readonly AcquiredLease[] | 'lost'> {
    return this.#run('replace', request.host, signal, (state, nowUs) =>
      replaceLeases(state, request, nowUs),
    )
  }

  override(
    request: Parameters<LeaseGroup['override']>[0],
    signal?: AbortSignal,
  ): Promise<readonly Lease[] | 'changed'> {
    return this.#run('override', undefined, signal, (state, nowUs) =>
      overrideLeases(state, request, nowUs),
    )
  }

  setPaused(paused: boolean, signal?: AbortSignal): Promise<boolean> {
    return this.#run('setPaused', undefined, signal, (state) => setGroupPaused(state, paused))
  }

  reconcile(
    request: Parameters<LeaseGroup['reconcile']>[0],
    signal?: AbortSignal,
  ): Promise<ReconcileReply> {
    return this.#run('reconcile', request.host, signal, (state) => ({
      changes: {},
      reply: reconcileLeases(state, request),
    }))
  }

  discard(token: string, signal?: AbortSignal): Promise<boolean> {
    return this.#run('discard', undefined, signal, (state) => discardLeases(state, token))
  }

  declareLost(request: LeaseLoss, signal?: AbortSignal): Promise<boolean> {
    return this.#run('declareLost', undefined, signal, (state) => declareLeasesLost(state, request))
  }

  /** No call on its way: no fault hits it. */
  async note({ summary, transitions }: HostNote): Promise<void> {
    const memory = this.#memory
    memory.summaries = withSummary(memory.summaries, summary, SUMMARIES_KEPT)
    memory.transitions = withTransitions(memory.transitions, transitions, TRANSITIONS_KEPT)
  }

  async readSummaries(): Promise<readonly HostSummary[]> {
    return this.#memory.summaries
  }

  async readTransitions(): Promise<readonly LeaseTransition[]> {
    return inTimeOrder(this.#memory.transitions)
  }

  subscribe(listener: (hint: LeaseHint) => void): () => void {
    // A function of its own, so that one listener subscribed twice is called twice.
    const own = (hint: LeaseHint): void => listener(hint)
    this.#listeners.add(own)
    this.#memory.listeners.add(own)
    return () => {
      this.#listeners.delete(own)
      this.#memory.listeners.delete(own)
    }
  }

  async close(): Promise<void> {
    for (const listener of this.#listeners) this.#memory.listeners.delete(listener)
    this.#listeners.clear()
  }

  /** The operation itself is one synchronous step: atomic among the hosts of this process. */
  async #run<Reply>(
    operation: LeaseOperation,
    host: string | undefined,
    signal: AbortSignal | undefined,
    step: (state: LeaseGroupState, storeTimeUs: number) => LeaseGroupStep<Reply>,
  ): Promise<Reply> {
    const call: LeaseCall = { operation, group: this.group, host, signal }
    await passThrough(this.#context.hooks.before, call)
    const nowUs = Math.floor(this.#context.clock.wallMs()) * 1000
    const { changes, reply } = step(this.#memory.state, nowUs)
    this.#memory.state = applyChanges(this.#memory.state, changes)
    for (const hint of changes.hints ?? []) announce(this.#memory.listeners, hint)
    await passThrough(this.#context.hooks.after, call)
    return reply
  }
}

/** Hints come after the operation, never inside it: a listener may call the store at once. */
function announce(listeners: ReadonlySet<(hint: LeaseHint) => void>, hint: LeaseHint): void {
  for (const listener of listeners) {
    queueMicrotask(() => {
      if (listeners.has(listener)) listener(hint)
    })
  }
}

async function passThrough(
  hook: ((call: LeaseCall) => Promise<void> | void) | undefined,
  call: LeaseCall,
): Promise<void> {
  call.signal?.throwIfAborted()
  if (hook !== undefined) await hook(call)
  call.signal?.throwIfAborted()
}
