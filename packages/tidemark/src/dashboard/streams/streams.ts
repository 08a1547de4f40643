import type { Clock } from '@tidemark/contracts'
import { problemAnswer } from '../problem-answer.ts'
import { Refusal } from '../requests/refusal.ts'
import { EventStream } from './event-stream.ts'
import { SharedView, type ViewSource } from './shared-view.ts'
import { sendTail, type TailParts } from './tail.ts'

/** Of all clients together. */
const MOST_STREAMS = 50

interface Opened {
  readonly view: SharedView
  readonly opening: Promise<void>
}

/** The event streams of all clients. */
export class Streams {
  readonly #clock: Clock
  readonly #views = new Map<string, Opened>()
  readonly #ended = new AbortController()
  readonly #tails = new Set<Promise<void>>()
  #open = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** @throws ERR_PAGE_CLOSED after `close` */
  assertOpen(): void {
    this.#ended.signal.throwIfAborted()
  }

  /**
   * `key`: the same for requests that ask for the same view. Rejects as the source does, and with ERR_PAGE_CLOSED.
   *
   * @param request the stream ends with it. @default with its own body only
   */
  view(key: string, begin: () => ViewSource, request?: Request): Promise<Response> {
    return this.#within(async (onEnd) => {
      const view = await this.#opened(key, begin)
      let leave = (): void => {}
      const stream = new EventStream(() => {
        leave()
        onEnd()
      })
      leave = view.add(stream)
      if (request !== undefined) stream.endWith(request)
      return stream.answer
    })
  }

  tail(
    changes: (signal: AbortSignal) => Parameters<typeof sendTail>[0],
    rowOf: TailParts['rowOf'],
    request?: Request,
  ): Promise<Response> {
    return this.#within(async (onEnd) => {
      const gone = new AbortController()
      const stream = new EventStream(() => {
        gone.abort()
        onEnd()
      })
      const signal = AbortSignal.any([gone.signal, this.#ended.signal])
      const parts = { stream, clock: this.#clock, signal, rowOf }
      const sending = sendTail(changes(signal), parts).finally(() => this.#tails.delete(sending))
      this.#tails.add(sending)
      if (request !== undefined) stream.endWith(request)
      return stream.answer
    })
  }

  async close(): Promise<void> {
    this.#ended.abort(new Refusal('ERR_PAGE_CLOSED', 'the page is closed'))
    await Promise.all([...this.#views.values()].map(({ view }) => view.close()))
    await Promise.all(this.#tails)
  }

  async #within(open: (onEnd: () => void) => Promise<Response>): Promise<Response> {
    this.assertOpen()
    if (this.#open >= MOST_STREAMS) {
      const message = `There are ${MOST_STREAMS} streams already; close a page.`
      return problemAnswer(429, { code: 'ERR_TOO_MANY_STREAMS', message }, { 'retry-after': '5' })
    }
    this.#open += 1
    const onEnd = (): void => {
      this.#open -= 1
    }
    try {
      return await open(onEnd)
    } catch (error) {
      onEnd()
      throw error
    }
  }

  async #opened(key: string, begin: () => ViewSource): Promise<SharedView> {
    for (;;) {
      this.assertOpen()
      const { view, opening } = this.#views.get(key) ?? this.#begin(key, begin())
      await opening
      // Its last viewer may have left in between.
      if (!view.isEnded) return view
    }
  }

  #begin(key: string, source: ViewSource): Opened {
    const view = new SharedView(source, this.#clock, () => this.#views.delete(key))
    const opened = { view, opening: view.open() }
    this.#views.set(key, opened)
    return opened
  }
}
