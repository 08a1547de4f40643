import { errorCode } from '@tidemark/contracts'
import type { MaintenanceTask } from '../engine/maintenance.ts'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import type { DatabaseMaintenanceOptions } from './maintenance-options.ts'
import { emitPiece } from './piece-events.ts'
import { firstPieceItems, nextPieceItems } from './piece-size.ts'
import { SizeWatch } from './size-watch.ts'

/** The result of one step. */
export type MaintenanceStep =
  /** A piece was done, with this number of documents, entries or rows. */
  | { readonly kind: 'worked'; readonly work: MaintenanceTask['kind']; readonly items: number }
  /** A range was examined because of its size. */
  | { readonly kind: 'sized'; readonly wasSplit: boolean }
  /** There is work: the next step does a piece of it. */
  | { readonly kind: 'looked' }
  /** Nothing is due before this store time, as far as is known. */
  | { readonly kind: 'idle'; readonly nextDueMs: number | undefined }
  /** Another store does the work, at least until then. */
  | { readonly kind: 'held'; readonly holder: string; readonly untilMs: number }

interface HeldByAnother {
  readonly holder: string
  readonly untilMs: number
}

export interface MaintenanceAttempt {
  readonly work: MaintenanceTask['kind'] | 'look' | 'split'
  readonly collectionId: string | undefined
}

/** Pieces of one task before the next task has its turn: an endless task must not starve the others. */
const PIECES_IN_A_ROW = 10

/** The background work of one database, step by step: looks for tasks, then does them, most urgent first. */
export class DatabaseMaintenance {
  readonly engine: DatabaseEngine
  readonly databaseId: string
  readonly #context: DatabaseMaintenanceOptions
  readonly #sizes: SizeWatch
  #tasks: readonly MaintenanceTask[] = []
  #piecesOfTask = 0
  #pieceItems: number
  /** Tasks that came to nothing since the last piece of work: they must not be tried again at once. */
  readonly #inVain = new Set<string>()
  #isHolder = false
  /** The lease of another store, and since when (monotonic time) it has not been renewed. */
  #watched:
    | { readonly holder: string; readonly untilMs: number; readonly sinceMs: number }
    | undefined
  #attempted: MaintenanceAttempt = { work: 'look', collectionId: undefined }

  constructor(context: DatabaseMaintenanceOptions) {
    this.#context = context
    this.engine = context.engine
    this.databaseId = context.databaseId
    this.#sizes = new SizeWatch(context)
    this.#pieceItems = firstPieceItems(context.options.maxItems)
  }

  /** What the last step attempted, for the report of a failure. */
  get attempted(): MaintenanceAttempt {
    return this.#attempted
  }

  /** Makes the next steps examine the sizes of ranges, in addition to the tasks. */
  checkSizes(): void {
    this.#sizes.begin()
  }

  /** Makes the next look try all tasks, even those that have just come to nothing. */
  begin(): void {
    this.#inVain.clear()
  }

  /**
   * Does at most one piece of work. Rejects as the engine does. The failed task is then tried again only after the
   * other tasks.
   */
  async step(): Promise<MaintenanceStep> {
    const [task] = this.#tasks
    if (task !== undefined) return this.#work(task)
    const looked = await this.#look()
    if (looked.kind !== 'idle' || !this.#sizes.isDue) return looked
    return this.#size(looked)
  }

  /** Releases the maintenance lease. */
  async release(): Promise<void> {
    if (!this.#isHolder) return
    await this.engine.releaseMaintenance(this.#context.holder)
    this.#ended('released')
  }

  async #work(task: MaintenanceTask): Promise<MaintenanceStep> {
    const { holder, clock, options } = this.#context
    const { leaseMs, maxItems, pieceMs } = options
    const beganMs = clock.monotonicMs()
    this.#attempted = { work: task.kind, collectionId: task.collection.id }
    try {
      const items = this.#pieceItems
      const outcome = await this.engine.maintain({ holder, leaseMs, maxItems: items, task })
      if (outcome.kind === 'held') return await this.#lose(outcome)
      const tookMs = clock.monotonicMs() - beganMs
      this.#pieceItems = nextPieceItems(items, { tookMs, pieceMs, maxItems })
      this.#began()
      if (outcome.items > 0) this.#inVain.clear()
      else if (!outcome.more) this.#inVain.add(nameOf(task))
      this.#piecesOfTask += 1
      if (!outcome.more || this.#piecesOfTask >= PIECES_IN_A_ROW) this.#nextTask()
      emitPiece(this.#context, task, outcome)
      return { kind: 'worked', work: task.kind, items: outcome.items }
    } catch (error) {
      this.#nextTask()
      // Deleted, split or merged since the look: the next look finds the present state.
      if (!isOutdated(error)) {
        // The next try comes after a pause, and with this task here no look is ever idle.
        this.#inVain.clear()
        throw error
      }
      this.#inVain.add(nameOf(task))
      return { kind: 'worked', work: task.kind, items: 0 }
    }
  }

  async #look(): Promise<MaintenanceStep> {
    const { holder } = this.#context
    this.#attempted = { work: 'look', collectionId: undefined }
    const view = await this.engine.readMaintenance()
    const present =
      view.holder && view.holder.untilMs > this.engine.nowMs() ? view.holder : undefined
    if (present !== undefined && present.name !== holder) {
      return this.#lose({ holder: present.name, untilMs: present.untilMs })
    }
    if (present === undefined) this.#ended('lapsed')
    this.#tasks = view.tasks.filter((task) => !this.#inVain.has(nameOf(task)))
    if (this.#tasks.length === 0) {
      this.#inVain.clear()
      return { kind: 'idle', nextDueMs: view.nextDueMs }
    }
    return { kind: 'looked' }
  }

  async #size(idle: MaintenanceStep): Promise<MaintenanceStep> {
    this.#attempted = { work: 'split', collectionId: undefined }
    const sized = await this.#sizes.step()
    if (sized.kind === 'held') return this.#lose(sized)
    if (sized.kind === 'done') return idle
    if (sized.tookLease) this.#began()
    return { kind: 'sized', wasSplit: sized.wasSplit }
  }

  #nextTask(): void {
    this.#tasks = this.#tasks.slice(1)
    this.#piecesOfTask = 0
  }

  #began(): void {
    if (this.#isHolder) return
    this.#isHolder = true
    const { events, databaseId, holder } = this.#context
    events.emit('maintenanceStarted', { databaseId, holder })
  }

  async #lose({ holder, untilMs }: HeldByAnother): Promise<MaintenanceStep> {
    this.#tasks = []
    this.#piecesOfTask = 0
    this.#inVain.clear()
    this.#ended('lost')
    if (!this.#hasLapsed({ holder, untilMs })) return { kind: 'held', holder, untilMs }
    await this.engine.releaseMaintenance(holder)
    return { kind: 'held', holder, untilMs: this.engine.nowMs() }
  }

  /**
   * Whether the lease has not been renewed for its full length by this process' own clock. When the machine's clock was
   * set back, the store's clock stands still for that long. So does the remaining time of a dead store's lease.
   */
  #hasLapsed({ holder, untilMs }: HeldByAnother): boolean {
    const { clock, options } = this.#context
    const nowMs = clock.monotonicMs()
    const isSame = this.#watched?.holder === holder && this.#watched.untilMs === untilMs
    if (this.#watched === undefined || !isSame) this.#watched = { holder, untilMs, sinceMs: nowMs }
    return nowMs - this.#watched.sinceMs >= options.leaseMs
  }

  #ended(cause: 'released' | 'lost' | 'lapsed'): void {
    if (!this.#isHolder) return
    this.#isHolder = false
    const { events, databaseId, holder } = this.#context
    events.emit('maintenanceEnded', { databaseId, holder, cause })
  }
}

function nameOf(task: MaintenanceTask): string {
  return `${task.kind} ${task.collection.number} ${task.kind === 'fold' ? task.range : ''}`
}

function isOutdated(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'ERR_NOT_FOUND' || code === 'ERR_RANGE_GONE'
}
