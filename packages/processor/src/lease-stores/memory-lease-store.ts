import {
  checkedGroupName,
  systemClock,
  systemRandom,
  checkOptions,
  option,
  type AcquiredLease,
  type CheckpointOutcome,
  type Clock,
  type Lease,
  type LeaseGroup,
  type LeaseGroupSnapshot,
  type LeaseHint,
  type LeaseLoss,
  type LeaseStore,
  type RequestOptions,
  type NewLease,
  type Random,
  type ReconcileReply,
  type SyncReply,
  type SyncRequest,
  type OptionRules,
} from '@tidemark/contracts'
import {
  applyChanges,
  newGroupState,
  readGroup,
  type LeaseGroupState,
  type LeaseGroupStep,
} from './lease-group-state.ts'
import { createLeases, declareLeasesLost, discardLeases } from './lease-set-model.ts'
import { planGroup, setGroupPaused, syncGroup } from './membership-model.ts'
import {
  acquireLeases,
  checkpointLeases,
  reconcileLeases,
  releaseLeases,
} from './ownership-model.ts'
import { overrideLeases, replaceLeases } from './replace-model.ts'

/** The operations of a lease group that a fault can hit. */
export type LeaseOperation =
  'openGroup' | 'listGroups' | Exclude<keyof LeaseGroup, 'group' | 'subscribe' | 'close'>

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
  /** Before the store sees the request: throwing loses the request. */
  before?: ((call: LeaseCall) => Promise<void> | void) | undefined
  /** After the operation happened: throwing loses the reply. */
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

const RULES: OptionRules<MemoryLeaseStoreOptions> = {
  clock: option.clock,
  random: option.random,
  hooks: option.anything,
}

/** All groups at one moment. */
export type MemoryLeaseSnapshot = ReadonlyMap<string, LeaseGroupState>

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
  readonly #random: Random
  readonly #hooks: LeaseCallHooks
  readonly #groups = new Map<string, MemoryGroup>()

  /** @throws ERR_INVALID_OPTION naming the option */
  constructor(options: MemoryLeaseStoreOptions = {}) {
    checkOptions(options, RULES)
    const { clock = systemClock, random = systemRandom, hooks = {} } = options
    this.#clock = clock
    this.#random = random
    this.#hooks = hooks
  }

  async openGroup(group: string, { signal }: RequestOptions = {}): Promise<LeaseGroup> {
    checkedGroupName(group)
    const call: LeaseCall = { operation: 'openGroup', group, host: undefined, signal }
    await passThrough(this.#hooks.before, call)
    let memory = this.#groups.get(group)
    if (memory === undefined) {
      memory = { state: newGroupState(this.#random.hex(8)), listeners: new Set() }
      this.#groups.set(group, memory)
    }
    await passThrough(this.#hooks.after, call)
    return new MemoryLeaseGroup(group, memory, { clock: this.#clock, hooks: this.#hooks })
  }

  async listGroups({ signal }: RequestOptions = {}): Promise<readonly string[]> {
    const call: LeaseCall = { operation: 'listGroups', group: '', host: undefined, signal }
    await passThrough(this.#hooks.before, call)
    const groups = [...this.#groups]
      .filter(([, { state }]) => state.leases.size > 0)
      .map(([group]) => group)
      .sort()
    await passThrough(this.#hooks.after, call)
    return groups
  }

  /** Forgets everything, as a server does that lost its data: generations change. For tests. */
  loseAllData(): void {
    for (const memory of this.#groups.values()) memory.state = newGroupState(this.#random.hex(8))
  }

  /** Takes one lease out of the set, as nobody who keeps to the protocol does. For tests. */
  loseLease(group: string, leaseId: string): boolean {
    const memory = this.#groups.get(group)
    if (memory?.state.leases.has(leaseId) !== true) return false
    memory.state = applyChanges(memory.state, { removeLeases: [leaseId] })
    return true
  }

  /** What it holds at this moment. For tests. */
  snapshot(): MemoryLeaseSnapshot {
    return new Map([...this.#groups].map(([group, { state }]) => [group, state]))
  }

  /** What it holds of one group at this moment. For tests. */
  stateOf(group: string): LeaseGroupState | undefined {
    return this.#groups.get(group)?.state
  }

  /** What it held then is what it holds now, as after a fail-over to a replica that lagged. For tests. */
  restore(snapshot: MemoryLeaseSnapshot): void {
    for (const [group, memory] of this.#groups) {
      memory.state = snapshot.get(group) ?? newGroupState(this.#random.hex(8))
    }
  }
}

interface MemoryGroup {
  state: LeaseGroupState
  readonly listeners: Set<(hint: LeaseHint) => void>
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

  plan(
    request: { readonly membershipVersion: number; readonly targets: ReadonlyMap<string, string> },
    signal?: AbortSignal,
  ): Promise<boolean> {
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
