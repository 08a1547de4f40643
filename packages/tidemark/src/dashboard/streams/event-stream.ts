import { ANSWER_HEADERS } from '../problem-answer.ts'

/** Events that wait for a client that does not read. */
const MOST_WAITING = 16

/** The events of one client. */
export class EventStream {
  readonly answer: Response
  readonly #encoder = new TextEncoder()
  readonly #onEnd: () => void
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  /** `onEnd`: called once when the client is gone, or the stream was ended. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        cancel: () => this.#ended(),
      },
      { highWaterMark: MOST_WAITING },
    )
    const headers = {
      ...ANSWER_HEADERS,
      'content-type': 'text/event-stream; charset=utf-8',
      // Proxies must not collect events.
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    }
    this.answer = new Response(body, { headers })
  }

  /** True: what is sent now would wait behind too much. */
  get isFull(): boolean {
    return (this.#controller?.desiredSize ?? 0) <= 0
  }

  /** `data`: one line of JSON. */
  send(event: string, data: string): void {
    this.#write(`event: ${event}\ndata: ${data}\n\n`)
  }

  /** Keeps the connection, and finds out whether the client is there. */
  comment(): void {
    if (!this.isFull) this.#write(':\n\n')
  }

  end(): void {
    const controller = this.#controller
    this.#ended()
    controller?.close()
  }

  #write(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text))
  }

  #ended(): void {
    if (this.#controller === undefined) return
    this.#controller = undefined
    this.#onEnd()
  }
}
