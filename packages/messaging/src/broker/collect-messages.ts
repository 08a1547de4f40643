import type { Clock } from '@tidemark/contracts'
import type { Intake } from './receive-queue.ts'
import type { Received } from './received.ts'
import type { ReceiveMode } from '@tidemark/store/messages'
import type { Pending } from './waiting-queue.ts'

export interface CollectOptions {
  readonly mode: ReceiveMode
  readonly max: number
  /** For the first message; Infinity: for as long as it takes. 0: returns what is there. */
  readonly maxWaitMs: number
  /** For more, after the first one. */
  readonly afterFirstMs: number
  readonly clock: Clock
  /** Ends the wait as if time were up. */
  readonly waitEnds?: AbortSignal | undefined
  /** Each of them ends the wait; it rejects with the reason. */
  readonly signals: readonly AbortSignal[]
  /** Takes what has arrived when the wait was aborted. */
  readonly giveBack: (received: readonly Received[]) => void
}

/** Receives until there are `max` messages, or time is up. */
export async function collectMessages(
  intake: Intake,
  { max, mode, clock, afterFirstMs, maxWaitMs, waitEnds, ...wait }: CollectOptions,
): Promise<readonly Received[]> {
  const collected: Received[] = []
  let deadlineMs = clock.monotonicMs() + maxWaitMs
  let waits = maxWaitMs > 0 && waitEnds?.aborted !== true
  try {
    for (;;) {
      const pending = intake.ask({ mode, max: max - collected.length, waits })
      const timeoutMs = waits ? deadlineMs - clock.monotonicMs() : Infinity
      const received = await awaitPending(pending, { ...wait, waitEnds, clock, timeoutMs })
      collected.push(...received)
      if (received.length === 0 || collected.length >= max) return collected
      if (collected.length === received.length) {
        deadlineMs = Math.min(deadlineMs, clock.monotonicMs() + afterFirstMs)
      }
      waits = deadlineMs > clock.monotonicMs() && waitEnds?.aborted !== true
      if (!waits) return collected
    }
  } catch (error) {
    if (collected.length > 0) wait.giveBack(collected)
    throw error
  }
}

/** What a waiting one gets until the time is up: then it no longer waits. Rejects at once when a signal aborts. */
export function awaitPending<Item>(
  pending: Pending<Item>,
  {
    clock,
    timeoutMs,
    waitEnds,
    signals,
    giveBack,
  }: {
    readonly clock: Clock
    readonly timeoutMs: number
    readonly waitEnds?: AbortSignal | undefined
    readonly signals: readonly AbortSignal[]
    readonly giveBack: (items: readonly Item[]) => void
  },
): Promise<readonly Item[]> {
  return new Promise((resolve, reject) => {
    const deadlineMs = clock.monotonicMs() + timeoutMs
    let timer: AbortController | undefined
    let isAborted = false
    const endWait = (): void => pending.cancel()
    const finish = (): void => {
      timer?.abort()
      waitEnds?.removeEventListener('abort', endWait)
      for (const signal of signals) signal.removeEventListener('abort', onAbort)
    }
    const onAbort = (): void => {
      isAborted = true
      finish()
      pending.cancel()
      reject(signals.find(({ aborted }) => aborted)?.reason)
    }
    for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true })
    waitEnds?.addEventListener('abort', endWait, { once: true })
    pending.delivered.then(
      (items) => {
        finish()
        if (!isAborted) resolve(items)
        else if (items.length > 0) giveBack(items)
      },
      (error: unknown) => {
        finish()
        reject(error)
      },
    )
    if (signals.some(({ aborted }) => aborted)) onAbort()
    else if (timeoutMs !== Infinity) {
      pending.whenWaiting(() => {
        if (isAborted) return
        timer = new AbortController()
        clock.sleep(Math.max(0, deadlineMs - clock.monotonicMs()), timer.signal).then(
          () => pending.cancel(),
          () => undefined,
        )
      })
    }
  })
}
