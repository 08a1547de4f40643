import type { Clock } from '@tidemark/contracts'
import { Refusal } from '../requests/refusal.ts'
import { EventStream } from './event-stream.ts'
import { SharedView, type ViewSource } from './shared-view.ts'
import { sendTail, type TailParts } from './tail.ts'

/** Of all clients together. The oldest gives way to a new one: no client can keep others out, and a browser comes back. */
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
  /** The oldest first. */
  readonly #streams = new Set<EventStream>()

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
  async view(key: string, begin: () => ViewSource, request?: Request): Promise<Response> {
    let leave = (): void => {}
    const stream = this.#stream(() => leave())
    try {
      const view = await this.#opened(key, begin)
      leave = view.add(stream)
    } catch (error) {
      stream.end()
      throw error
    }
    if (stream.isEnded) leave()
    if (request !== undefined) stream.endWith(request)
    return stream.answer
  }

  tail(
    changes: (signal: AbortSignal) => Parameters<typeof sendTail>[0],
    rowOf: TailParts['rowOf'],
    request?: Request,
  ): Response {
    const gone = new AbortController()
    const stream = this.#stream(() => gone.abort())
    const signal = AbortSignal.any([gone.signal, this.#ended.signal])
    const parts = { stream, clock: this.#clock, signal, rowOf }
    const sending = sendTail(changes(signal), parts).finally(() => this.#tails.delete(sending))
    this.#tails.add(sending)
    if (request !== undefined) stream.endWith(request)
    return stream.answer
  }

  async close(): Promise<void> {
    this.#ended.abort(new Refusal('ERR_PAGE_CLOSED', 'the page is closed'))
    await Promise.all([...this.#views.values()].map(({ view }) => view.close()))
    await Promise.all(this.#tails)
  }

  #stream(onEnd: () => void): EventStream {
    this.assertOpen()
    const stream = new EventStream(() => {
      this.#streams.delete(stream)
      onEnd()
    })
    this.#streams.add(stream)
    const [oldest] = this.#streams
    if (this.#streams.size > MOST_STREAMS) oldest?.end()
    return stream
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
