import type {
  ChangeFeedSource,
  Clock,
  DocumentBody,
  FeedLag,
  FeedLagRequest,
  FeedPage,
  FeedPageRequest,
  FeedPosition,
  FeedStartRequest,
  FeedSupport,
  FeedWaitRequest,
  GroupPosition,
  GroupPositions,
  JoinPositionsRequest,
  LeaseDurability,
  LeaseGroup,
  LeaseHint,
  LeaseStore,
  RequestOptions,
  PositionAtRequest,
  SourceRange,
  DivideRangeRequest,
  FeedRange,
} from '@tidemark/contracts'
import { LeaseStoreUnavailableError } from '@tidemark/contracts'

/**
 * Stands for one process among several that are simulated in this one. While it is frozen nothing
 * that passes through it goes on, as after SIGSTOP; never thawed, as after SIGKILL.
 */
export class ProcessGate {
  #frozen: PromiseWithResolvers<void> | undefined

  get isFrozen(): boolean {
    return this.#frozen !== undefined
  }

  freeze(): void {
    this.#frozen ??= Promise.withResolvers<void>()
  }

  thaw(): void {
    this.#frozen?.resolve()
    this.#frozen = undefined
  }

  async pass(): Promise<void> {
    while (this.#frozen !== undefined) await this.#frozen.promise
  }
}

/** The clock as a process sees it: it reads on while frozen, but nobody wakes. */
export class GatedClock implements Clock {
  readonly #inner: Clock
  readonly #gate: ProcessGate
  #wallOffsetMs = 0

  constructor(inner: Clock, gate: ProcessGate) {
    this.#inner = inner
    this.#gate = gate
  }

  wallMs(): number {
    return this.#inner.wallMs() + this.#wallOffsetMs
  }

  monotonicMs(): number {
    return this.#inner.monotonicMs()
  }

  /** This process's wall clock alone jumps. */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs
  }

  async sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#inner.sleep(delayMs, signal)
    } finally {
      await this.#gate.pass()
    }
  }
}

/**
 * Way from one process to the lease store: `up`; `down` (calls fail); `silent` (they hang); `deaf`
 * (they happen, and their answers are lost).
 */
export type LinkState = 'up' | 'down' | 'silent' | 'deaf'

/** A lease store as a process reaches it. */
export class GatedLeaseStore implements LeaseStore {
  readonly description: string
  readonly collectionIdentity: string | undefined
  readonly readDurability?: (options?: RequestOptions) => Promise<LeaseDurability>
  readonly #inner: LeaseStore
  readonly #gate: ProcessGate
  link: LinkState = 'up'
  /** Operations that reached the store. */
  readonly calls: string[] = []
  /** Called right before and right after an operation happens in the store. For a fault at that point. */
  onCall: (operation: string, when: 'before' | 'after') => void = () => {}

  constructor(inner: LeaseStore, gate: ProcessGate) {
    this.description = inner.description
    this.collectionIdentity = inner.collectionIdentity
    this.#inner = inner
    this.#gate = gate
    if (inner.readDurability !== undefined) {
      this.readDurability = (options) =>
        this.#pass('readDurability', () => inner.readDurability!(options))
    }
  }

  async openGroup(name: string, options?: RequestOptions): Promise<LeaseGroup> {
    const group = await this.#pass('openGroup', () => this.#inner.openGroup(name, options))
    const pass = <R>(op: string, call: () => Promise<R>): Promise<R> => this.#pass(op, call)
    return {
      group: group.group,
      sync: (request, s) => pass(`sync:${request.intent}`, () => group.sync(request, s)),
      create: (leases, s) => pass('create', () => group.create(leases, s)),
      read: (s) => pass('read', () => group.read(s)),
      ...(group.claimFeed && {
        claimFeed: (feed, given) => pass('claimFeed', () => group.claimFeed!(feed, given)),
      }),
      plan: (request, s) => pass('plan', () => group.plan(request, s)),
      acquire: (request, s) => pass('acquire', () => group.acquire(request, s)),
      checkpoint: (request, s) => pass('checkpoint', () => group.checkpoint(request, s)),
      ...(group.flush && { flush: (s) => pass('flush', () => group.flush!(s)) }),
      release: (request, s) => pass('release', () => group.release(request, s)),
      replace: (request, s) => pass('replace', () => group.replace(request, s)),
      override: (request, s) => pass('override', () => group.override(request, s)),
      setPaused: (paused, s) => pass('setPaused', () => group.setPaused(paused, s)),
      reconcile: (request, s) => pass('reconcile', () => group.reconcile(request, s)),
      discard: (token, s) => pass('discard', () => group.discard(token, s)),
      declareLost: (request, s) => pass('declareLost', () => group.declareLost(request, s)),
      ...(group.note && { note: (note, s) => pass('note', () => group.note!(note, s)) }),
      subscribe: (listener) => this.#subscribe(group, listener),
      close: () => group.close(),
    }
  }

  listGroups(options?: RequestOptions): Promise<readonly string[]> {
    return this.#pass('listGroups', () => this.#inner.listGroups(options))
  }

  #subscribe(group: LeaseGroup, listener: (hint: LeaseHint) => void): () => void {
    return group.subscribe((hint) => {
      // Hints are lost on a broken link, and come late to a process that stood still.
      if (this.link === 'up') void this.#gate.pass().then(() => listener(hint))
    })
  }

  async #pass<R>(operation: string, call: () => Promise<R>): Promise<R> {
    await this.#gate.pass()
    await this.#cross(operation)
    this.onCall(operation, 'before')
    await this.#gate.pass()
    this.calls.push(operation)
    const result = await call()
    this.onCall(operation, 'after')
    if (this.link === 'deaf') throw new LeaseStoreUnavailableError(`${operation}: answer lost`)
    await this.#cross(operation)
    await this.#gate.pass()
    return result
  }

  async #cross(operation: string): Promise<void> {
    if (this.link === 'down') throw new LeaseStoreUnavailableError(`${operation}: link down`)
    if (this.link === 'silent') await new Promise<never>(() => {})
  }
}

/** A feed as a process reaches it. */
export class GatedFeed<T extends DocumentBody> implements ChangeFeedSource<T> {
  readonly identity: string
  readonly description: string
  readonly supports: FeedSupport
  readonly readRid?: (options?: RequestOptions) => Promise<string>
  readonly waitForChanges?: (request: FeedWaitRequest) => Promise<boolean>
  readonly positionAt?: (request: PositionAtRequest) => Promise<FeedPosition>
  readonly measureLag?: (request: FeedLagRequest) => Promise<FeedLag>
  readonly divideRange?: (request: DivideRangeRequest) => Promise<readonly FeedRange[]>
  readonly joinPositions?: (request: JoinPositionsRequest) => Promise<FeedPosition | undefined>
  readonly positions: GroupPositions | undefined
  readonly #inner: ChangeFeedSource<T>
  readonly #gate: ProcessGate

  constructor(inner: ChangeFeedSource<T>, gate: ProcessGate) {
    this.identity = inner.identity
    this.description = inner.description
    this.supports = inner.supports
    this.#inner = inner
    this.#gate = gate
    if (inner.readRid !== undefined) {
      this.readRid = (options) => this.#pass(() => inner.readRid!(options))
    }
    if (inner.waitForChanges !== undefined) {
      this.waitForChanges = (request) => this.#pass(() => inner.waitForChanges!(request))
    }
    if (inner.positionAt !== undefined) {
      this.positionAt = (request) => this.#pass(() => inner.positionAt!(request))
    }
    if (inner.measureLag !== undefined) {
      this.measureLag = (request) => this.#pass(() => inner.measureLag!(request))
    }
    if (inner.divideRange !== undefined) {
      this.divideRange = (request) => this.#pass(() => inner.divideRange!(request))
    }
    if (inner.joinPositions !== undefined) {
      this.joinPositions = (request) => this.#pass(() => inner.joinPositions!(request))
    }
    const { positions } = inner
    this.positions = positions && {
      report: (reported: readonly GroupPosition[]) => this.#pass(() => positions.report(reported)),
      read: (group: string) => this.#pass(() => positions.read(group)),
    }
  }

  readFeedRanges(options?: { signal?: AbortSignal | undefined }): Promise<readonly SourceRange[]> {
    return this.#pass(() => this.#inner.readFeedRanges(options))
  }

  resolveStart(request: FeedStartRequest): Promise<FeedPosition> {
    return this.#pass(() => this.#inner.resolveStart(request))
  }

  readPage(request: FeedPageRequest): Promise<FeedPage<T>> {
    return this.#pass(() => this.#inner.readPage(request))
  }

  async #pass<R>(call: () => Promise<R>): Promise<R> {
    await this.#gate.pass()
    try {
      return await call()
    } finally {
      await this.#gate.pass()
    }
  }
}
