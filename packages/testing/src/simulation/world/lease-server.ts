import type { Clock, HeldLease, LeaseStore } from '@tidemark/contracts'
import {
  LeaseMemory,
  leaseStoreOn,
  newGroupState,
  type LeaseGroupState,
} from '@tidemark/processor/lease-model'
import { FakeDocumentCollection } from '../../fake-document-collection.ts'
import { runReadyWork } from '../../platform/run-ready-work.ts'
import type { LeaseStoreKind } from '../schedule/schedule.ts'
import { SeededRandom } from '../time/seeded-random.ts'
import type { SimulatedProcess } from '../time/simulated-process.ts'
import type { VirtualTime } from '../time/virtual-time.ts'
import { DocumentState } from './document-state.ts'
import type { SimulatedServer } from './network-link.ts'

/** The group that all hosts belong to. */
export const GROUP = 'group'
/** Snapshots are kept for so long. */
const HISTORY_MS = 3_000

/** What one request changed. `by` is undefined for what happens to the store itself. */
export interface StoreChange {
  readonly before: LeaseGroupState
  readonly after: LeaseGroupState
  readonly by: SimulatedProcess | undefined
  /** `wipe`: all data were lost, or hosts declared them lost after damage. `crash`: what was not on disk was lost. */
  readonly cause: 'request' | 'rollback' | 'wipe' | 'damage' | 'crash'
  readonly atMs: number
  /** What the caller says of leases that it owns. Of kind `model`. */
  readonly claims: readonly HeldLease[]
}

interface Snapshot {
  readonly atMs: number
  readonly restore: () => void
}

export interface LeaseServerOptions {
  readonly kind: LeaseStoreKind
  readonly time: VirtualTime
  readonly seed: number
  readonly onChange: (change: StoreChange) => void
  /** Told of what a crash cannot take any more, of kind `documents`. */
  readonly onSynced: (state: LeaseGroupState) => void
}

/** The server that keeps the leases: one of the two models, with a clock of its own, that can stand still, go back and forget. The clock of documents never goes back. */
export class LeaseServer implements SimulatedServer {
  readonly kind: LeaseStoreKind
  readonly clock: Clock
  /** Of kind `model`. */
  readonly leases: LeaseStore
  /** Of kind `documents`. */
  readonly documents: FakeDocumentCollection
  readonly #memory: LeaseMemory
  readonly #time: VirtualTime
  readonly #onChange: (change: StoreChange) => void
  readonly #onSynced: (state: LeaseGroupState) => void
  readonly #documentState = new DocumentState()
  readonly #syncedState = new DocumentState()
  #synced: LeaseGroupState | undefined
  readonly #history: Snapshot[] = []
  #state: LeaseGroupState = newGroupState('')
  #wallOffsetMs = 0
  #waiting: (() => void)[] | undefined
  readonly #onCommit = new Set<() => void>()
  /** Requests that were carried out. */
  requests = 0

  constructor({ kind, time, seed, onChange, onSynced }: LeaseServerOptions) {
    this.kind = kind
    this.#time = time
    this.#onChange = onChange
    this.#onSynced = onSynced
    let latestMs = 0
    this.clock = {
      wallMs: () => {
        const wallMs = 1_767_225_600_000 + time.nowMs + this.#wallOffsetMs
        if (kind === 'model') return wallMs
        latestMs = Math.max(latestMs, wallMs)
        return latestMs
      },
      monotonicMs: () => time.nowMs,
      sleep: () => Promise.reject(new Error('a server does not sleep')),
    }
    const random = SeededRandom.stream(seed, 1)
    this.#memory = new LeaseMemory(random)
    this.leases = leaseStoreOn(this.#memory, { clock: this.clock })
    this.documents = new FakeDocumentCollection({ clock: this.clock, turn: () => {} })
  }

  /** The group's leases, sessions and plan as they are stored. */
  get state(): LeaseGroupState {
    return this.#state
  }

  get isPaused(): boolean {
    return this.#waiting !== undefined
  }

  admit(execute: () => void): void {
    if (this.#waiting === undefined) execute()
    else this.#waiting.push(execute)
  }

  /** Carries out a request, and tells what it changed. */
  async execute<R>(
    by: SimulatedProcess,
    request: () => Promise<R>,
    claims: readonly HeldLease[] = [],
  ): Promise<R> {
    this.requests += 1
    try {
      return await request()
    } finally {
      this.#look('request', by, claims)
    }
  }

  /** Calls back once after a commit of documents that is newer than `afterLsn`, or at once. */
  onCommit(afterLsn: number, listener: () => void): () => void {
    if (this.documents.newestLsn > afterLsn) {
      listener()
      return () => {}
    }
    this.#onCommit.add(listener)
    return () => void this.#onCommit.delete(listener)
  }

  /** Requests wait from now on. */
  pause(): void {
    this.#waiting ??= []
  }

  /** What waited is carried out now, in the order in which it came. */
  resume(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const execute of waiting) {
      execute()
      runReadyWork()
    }
  }

  /** Somebody sets its clock, or another machine with another clock goes on. */
  stepClock(byMs: number): void {
    this.#wallOffsetMs += byMs
  }

  /** A replica takes over that has everything but what came within the last `lostMs`; false when there is none yet. */
  rollBack(lostMs: number): boolean {
    const untilMs = this.#time.nowMs - lostMs
    const index = this.#history.findLastIndex(({ atMs }) => atMs <= untilMs)
    const kept = this.#history[index]
    if (kept === undefined) return false
    this.#history.length = index + 1
    kept.restore()
    this.#look('rollback')
    return true
  }

  /** Its machine dies: of the commits that were not on disk, this part is lost, the newest first; false when none was. */
  crash(lostPart: number): boolean {
    const { documents } = this
    const { unsyncedCommits } = documents
    if (unsyncedCommits === 0) return false
    documents.crash({ kept: Math.floor(unsyncedCommits * (1 - lostPart)) })
    this.#look('crash')
    return true
  }

  /** All data are lost. */
  wipe(): void {
    if (this.kind === 'model') this.#memory.loseAllData()
    else this.documents.restore(new Map())
    this.#history.length = 0
    this.#look('wipe')
  }

  /** Somebody deletes a lease of several, or writes something else over it; false when there are none. */
  damage({
    range,
    how,
  }: {
    readonly range: number
    readonly how: 'deleted' | 'overwritten'
  }): boolean {
    const ids = [...this.#state.leases.keys()].sort()
    const id = ids[range % Math.max(1, ids.length)]
    // Without any lease it is as a group whose leases were discarded: its hosts stop.
    if (id === undefined || ids.length < 2) return false
    if (this.kind === 'model') this.#memory.loseLease(GROUP, id)
    else this.#damageDocument(id, how)
    this.#look('damage')
    return !this.#state.leases.has(id)
  }

  #damageDocument(leaseId: string, how: 'deleted' | 'overwritten'): void {
    const before = this.documents.snapshot()
    const documents = new Map(before)
    for (const [key, document] of before) {
      if (!('leaseId' in document) || document['leaseId'] !== leaseId) continue
      documents.delete(key)
      if (how === 'deleted') continue
      documents.set(key, { ...document, kind: 'note', _etag: '"note"' } as typeof document)
    }
    this.documents.restore(documents)
  }

  #look(
    cause: StoreChange['cause'],
    by?: SimulatedProcess,
    claims: readonly HeldLease[] = [],
  ): void {
    this.#lookAtDisk(cause)
    const before = this.#state
    const after = this.#read()
    if (after === before) return
    this.#state = after
    this.#remember()
    for (const listener of this.#onCommit) listener()
    this.#onCommit.clear()
    const isDeclaredLost =
      before.leases.size > 0 && before.head.generation !== after.head.generation
    const seen = cause === 'request' && isDeclaredLost ? 'wipe' : cause
    this.#onChange({ before, after, by, cause: seen, atMs: this.#time.nowMs, claims })
  }

  #lookAtDisk(cause: StoreChange['cause']): void {
    if (this.kind !== 'documents') return
    const synced = this.#syncedState.read(this.documents.synced)
    if (synced === this.#synced) return
    this.#synced = synced
    // What a request puts on disk stands behind what was there before it, and has perhaps written over.
    if (cause === 'request') this.#onSynced(this.#state)
    this.#onSynced(synced)
  }

  #read(): LeaseGroupState {
    if (this.kind === 'documents') return this.#documentState.read(this.documents.snapshot())
    return this.#memory.stateOf(GROUP) ?? this.#state
  }

  #remember(): void {
    const history = this.#history
    const atMs = this.#time.nowMs
    if (this.kind === 'model') {
      const snapshot = this.#memory.snapshot()
      history.push({ atMs, restore: () => this.#memory.restore(snapshot) })
    } else {
      const snapshot = this.documents.snapshot()
      history.push({ atMs, restore: () => this.documents.restore(snapshot) })
    }
    // The last one that is older than that is still needed.
    while (history.length > 1 && history[1]!.atMs < atMs - HISTORY_MS) history.shift()
  }
}
