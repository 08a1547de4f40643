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
  readonly retryDelayInMs: number
  readonly maxRetryDelayInMs: number
  readonly signal: AbortSignal | undefined
  /** Renews the message's lock until the handler has ended, and what `onFailure` makes of its failure. */
  readonly process: (received: Received, onFailure: OnFailure) => Promise<void>
  readonly processError: ProcessError
  readonly onEnded: () => void
}

type OnFailure = (error: unknown) => Promise<void>

const FIRST_RETRY_MS = 100
const LAST_RETRY_MS = 10_000

/** After these, receiving again cannot succeed: an entity may be created, enabled, or repaired; this receiver and this store not. */
const FINAL_CODES: ReadonlySet<string | undefined> = new Set([
  'ERR_SESSION_LOCK_LOST',
  'ERR_LINK_CLOSED',
  'ERR_STORE_CLOSED',
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
    const { autoCompleteMessages, link, process } = this.#parts
    const token = received.lock?.token
    if (token !== undefined) link.expectSettlement(token)
    const settle = async (outcome: Outcome, beforehand?: () => Promise<void>): Promise<void> => {
      // The handler may have settled it itself.
      if (token === undefined || !link.isUnsettled(token) || !autoCompleteMessages) return
      await beforehand?.()
      await this.#settle(token, outcome)
    }
    let hasFailed = false
    const onFailure: OnFailure = async (error) => {
      hasFailed = true
      await this.#report('processMessage', error)
      // Nobody else gets it meanwhile: what it needs may be away for everyone.
      await settle({ kind: 'abandon', changes: undefined }, () => this.#restAfter(received))
    }
    try {
      await process(received, onFailure)
    } catch (error) {
      await onFailure(error)
    }
    if (!hasFailed) await settle({ kind: 'complete' })
  }

  async #settle(token: string, outcome: Outcome): Promise<void> {
    const { link, calls } = this.#parts
    try {
      await calls.settle(outcome.kind, () => link.settle(token, outcome))
    } catch (error) {
      await this.#report('settle', error)
    }
  }

  /** Waits before a message is given back that its handler failed on, longer with each delivery. */
  async #restAfter({ message }: Received): Promise<void> {
    const { retryDelayInMs, maxRetryDelayInMs } = this.#parts
    await this.#pause(Math.min(retryDelayInMs * 2 ** message.deliveries, maxRetryDelayInMs))
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
    if (retryMs === 0 || this.#stop.signal.aborted) return
    try {
      await clock.sleep(retryMs * (0.5 + random.fraction() / 2), this.#stop.signal)
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error
    }
  }
}
