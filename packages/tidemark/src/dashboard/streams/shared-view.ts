import type { Clock } from '@tidemark/contracts'
import { problemOf } from '../requests/error-answer.ts'
import type { EventStream } from './event-stream.ts'
import { ViewDifference, type AnyView } from './view-difference.ts'

/** Where a view comes from. */
export interface ViewSource {
  read(): Promise<AnyView>
  /** Nobody looks any more. */
  release(): void
}

const UPDATE_MS = 1_000
/** To read a view takes at most one part in four of the time. */
const REST = 3
const COMMENT_MS = 15_000

interface Viewer {
  readonly stream: EventStream
  /** It missed an update, and gets the whole view next. */
  isBehind: boolean
  toldMs: number
  problem: string | undefined
}

/** What happened in one second. */
interface News {
  readonly problem: string | undefined
  readonly update: string | undefined
  readonly whole: () => string
}

/** One view for all who look at it: it is read once a second for all of them, and only what changed is sent. */
export class SharedView {
  readonly #source: ViewSource
  readonly #clock: Clock
  readonly #onEmpty: () => void
  readonly #difference = new ViewDifference()
  readonly #viewers = new Set<Viewer>()
  readonly #ended = new AbortController()
  #last: AnyView | undefined
  #running: Promise<void> | undefined

  /** `onEmpty`: nobody looks any more, and nobody may be added. */
  constructor(source: ViewSource, clock: Clock, onEmpty: () => void) {
    this.#source = source
    this.#clock = clock
    this.#onEmpty = onEmpty
  }

  get isEnded(): boolean {
    return this.#ended.signal.aborted
  }

  /** Rejects as the source does: then it has ended. */
  async open(): Promise<void> {
    try {
      this.#last = await this.#source.read()
    } catch (error) {
      this.#end()
      throw error
    }
    this.#difference.next(this.#last)
  }

  /** Sends the view, and its changes until the returned function is called. */
  add(stream: EventStream): () => void {
    const toldMs = this.#clock.monotonicMs()
    const viewer: Viewer = { stream, isBehind: false, toldMs, problem: undefined }
    stream.send('view', JSON.stringify(this.#last))
    this.#viewers.add(viewer)
    this.#running ??= this.#run()
    return () => {
      this.#viewers.delete(viewer)
      if (this.#viewers.size === 0) this.#end()
    }
  }

  async close(): Promise<void> {
    for (const { stream } of this.#viewers) stream.end()
    this.#end()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#ended
    let pauseMs = UPDATE_MS
    for (;;) {
      await this.#clock.sleep(pauseMs, signal, { purpose: 'background' }).catch(() => {})
      if (signal.aborted) return
      const startMs = this.#clock.monotonicMs()
      await this.#update()
      pauseMs = Math.max(UPDATE_MS, REST * (this.#clock.monotonicMs() - startMs))
    }
  }

  async #update(): Promise<void> {
    let problem: string | undefined
    let update: string | undefined
    try {
      const view = await this.#source.read()
      this.#last = view
      const difference = this.#difference.next(view)
      update = difference && JSON.stringify(difference)
    } catch (error) {
      problem = JSON.stringify(problemOf(error))
    }
    const nowMs = this.#clock.monotonicMs()
    const news: News = { problem, update, whole: () => JSON.stringify(this.#last) }
    for (const viewer of this.#viewers) {
      const isTold = tell(viewer, news)
      if (!isTold && nowMs - viewer.toldMs < COMMENT_MS) continue
      viewer.toldMs = nowMs
      if (!isTold) viewer.stream.comment()
    }
  }

  #end(): void {
    if (this.isEnded) return
    this.#ended.abort()
    this.#onEmpty()
    this.#source.release()
  }
}

/** False: there is nothing to tell, or the client does not read. */
function tell(viewer: Viewer, { problem, update, whole }: News): boolean {
  const { stream } = viewer
  if (stream.isFull) {
    viewer.isBehind ||= update !== undefined
    return false
  }
  const isNewProblem = problem !== undefined && problem !== viewer.problem
  // Also when nothing has changed meanwhile: what is shown is right again.
  const isOver = problem === undefined && viewer.problem !== undefined
  viewer.problem = problem
  if (isNewProblem) stream.send('problem', problem)
  const isWhole = isOver || (viewer.isBehind && problem === undefined)
  if (isWhole) stream.send('view', whole())
  else if (update !== undefined) stream.send('update', update)
  viewer.isBehind &&= !isWhole
  return isNewProblem || isWhole || update !== undefined
}
