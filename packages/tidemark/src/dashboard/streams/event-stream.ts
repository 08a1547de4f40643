import { ANSWER_HEADERS } from '../problem-answer.ts'

/** What waits for a client that does not read: so many bytes, or 16 events. */
const MOST_WAITING_BYTES = 1024 * 1024
const LEAST_COUNTED_BYTES = MOST_WAITING_BYTES / 16
/** Comments without room, one after another: the client has gone, or will never read. */
const MOST_UNREAD = 4

/** The events of one client. */
export class EventStream {
  readonly answer: Response
  readonly #encoder = new TextEncoder()
  readonly #onEnd: () => void
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #unread = 0
  /** Its signal is silent once nobody has the request. */
  #request: Request | undefined

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
      {
        highWaterMark: MOST_WAITING_BYTES,
        size: ({ byteLength }) => Math.max(byteLength, LEAST_COUNTED_BYTES),
      },
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

  get isEnded(): boolean {
    return this.#controller === undefined
  }

  /** `data`: one line of JSON. */
  send(event: string, data: string): void {
    this.#write(`event: ${event}\ndata: ${data}\n\n`)
  }

  /** Keeps the connection, and finds out whether the client is there. */
  comment(): void {
    if (!this.isFull) this.#write(':\n\n')
    this.#unread = this.isFull ? this.#unread + 1 : 0
    if (this.#unread === MOST_UNREAD) this.end()
  }

  /** Ends with its request: not every server cancels the body when the client is gone. */
  endWith(request: Request): void {
    if (request.signal.aborted) this.end()
    if (this.#controller === undefined) return
    this.#request = request
    request.signal.addEventListener('abort', this.#onGone)
  }

  end(): void {
    const controller = this.#controller
    this.#ended()
    controller?.close()
  }

  readonly #onGone = (): void => this.end()

  #write(text: string): void {
    this.#controller?.enqueue(this.#encoder.encode(text))
  }

  #ended(): void {
    if (this.#controller === undefined) return
    this.#controller = undefined
    this.#request?.signal.removeEventListener('abort', this.#onGone)
    this.#request = undefined
    this.#onEnd()
  }
}
