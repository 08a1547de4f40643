import { errorCode, type Clock, type Random } from '@tidemark/contracts'
import type { Outcome } from '@tidemark/store/messages'
import { Bell } from './bell.ts'
import type { ObservedCalls } from './observed-calls.ts'
import type { Received } from './received.ts'
import type { ReceiverLink } from './receiver-link.ts'
import type { MessageHandlers } from './receiver-options.ts'

type ProcessError = MessageHandlers['processError']
type ErrorSource = Parameters<ProcessError>[0]['errorSource']

export interface MessageSubscriptionParts {
  readonly link: ReceiverLink
  readonly calls: ObservedCalls
  readonly clock: Clock
  readonly random: Random
  readonly autoCompleteMessages: boolean
  readonly maxConcurrentCalls: number
  readonly signal: AbortSignal | undefined
  readonly process: (received: Received) => Promise<void>
  readonly processError: ProcessError
  readonly onEnded: () => void
}

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 10_000

/** After these, receiving again cannot succeed. */
const FINAL_CODES: ReadonlySet<string | undefined> = new Set([
  'ERR_MESSAGING_ENTITY_NOT_FOUND',
  'ERR_MESSAGING_NOT_ALLOWED',
  'ERR_SESSION_LOCK_LOST',
  'ERR_LINK_CLOSED',
  'ERR_STORE_CLOSED',
  'ERR_STORE_DAMAGED',
  'ERR_NOT_FOUND',
])

/** Takes messages as long as handlers are free for them, and settles what they have done. */
export class MessageSubscription {
  readonly #parts: MessageSubscriptionParts
  readonly #stop = new AbortController()
  readonly #calls = new Set<Promise<void>>()
  readonly #reports = new Set<Promise<void>>()
  readonly #freed: Bell
  readonly #ended: Promise<void>

  constructor(parts: MessageSubscriptionParts) {
    this.#parts = parts
    this.#freed = new Bell(parts.clock)
    this.#ended = this.#run()
  }

  /** Takes no more messages. Resolves when the handlers that run have ended. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#ended
  }

  /** Tells the user of an error. What the user's own handler for errors throws has nowhere to go. */
  report(errorSource: ErrorSource, error: unknown): void {
    const report = this.#report(errorSource, error).finally(() => this.#reports.delete(report))
    this.#reports.add(report)
  }

  async #run(): Promise<void> {
    const { link, signal, onEnded } = this.#parts
    const onAbort = (): void => this.#stop.abort()
    const signals = signal === undefined ? [link.closing] : [link.closing, signal]
    for (const one of signals) one.addEventListener('abort', onAbort, { once: true })
    if (signals.some(({ aborted }) => aborted)) onAbort()
    await this.#takeMessages()
    await Promise.all(this.#calls)
    await Promise.all(this.#reports)
    for (const one of signals) one.removeEventListener('abort', onAbort)
    onEnded()
  }

  async #takeMessages(): Promise<void> {
    const { link, maxConcurrentCalls } = this.#parts
    let retryMs = FIRST_RETRY_MS
    while (!this.#stop.signal.aborted) {
      const free = maxConcurrentCalls - this.#calls.size
      if (free === 0) {
        await this.#freed.wait(undefined, this.#stop.signal)
        continue
      }
      try {
        const received = await link.receive({
          max: free,
          maxWaitMs: Infinity,
          afterFirstMs: 0,
          signal: this.#stop.signal,
        })
        for (const one of received) this.#start(one)
        retryMs = FIRST_RETRY_MS
      } catch (error) {
        if (this.#stop.signal.aborted) return
        await this.#report('receive', error)
        if (FINAL_CODES.has(errorCode(error))) return
        await this.#pause(retryMs)
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
      }
    }
  }

  #start(received: Received): void {
    const call = this.#call(received).finally(() => {
      this.#calls.delete(call)
      this.#freed.ring()
    })
    this.#calls.add(call)
  }

  async #call(received: Received): Promise<void> {
    const { autoCompleteMessages, link, calls, process } = this.#parts
    const token = received.lock?.token
    if (token !== undefined) link.expectSettlement(token)
    let outcome: Outcome = { kind: 'complete' }
    try {
      await process(received)
    } catch (error) {
      outcome = { kind: 'abandon', changes: undefined }
      await this.#report('processMessage', error)
    }
    // The handler may have settled it itself.
    if (token === undefined || !link.isUnsettled(token) || !autoCompleteMessages) return
    try {
      await calls.settle(outcome.kind, () => link.settle(token, outcome))
    } catch (error) {
      await this.#report('settle', error)
    }
  }

  async #report(errorSource: ErrorSource, error: unknown): Promise<void> {
    const { link, processError } = this.#parts
    try {
      await processError({ error, errorSource, entityPath: link.path })
    } catch {
      // There is nobody else to tell.
    }
  }

  /** Jitter, so that receivers that failed together do not come back together. */
  async #pause(retryMs: number): Promise<void> {
    const { clock, random } = this.#parts
    try {
      await clock.sleep(retryMs * (0.5 + random.fraction() / 2), this.#stop.signal)
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error
    }
  }
}
