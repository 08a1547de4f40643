import { errorCode, type Clock, type DocumentBody, type Random } from '@tidemark/contracts'
import type { SinkEntry } from './sink-entry.ts'
import type { Sink, SinkContext } from './sink.ts'
import { SinkUnavailableError } from './sink-unavailable-error.ts'

const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 30_000
/** A sink that asks for more is asked again: it may have meant something else. */
const LONGEST_REST_MS = 3_600_000

export interface PatientWriterParts<T extends DocumentBody> {
  readonly sink: Sink<SinkEntry<T>>
  readonly patienceMs: number
  readonly longestWaitMs: number
  /** Aborted when the job ends. */
  readonly ended: AbortSignal
  readonly clock: Clock
  readonly random: Random
  readonly onUnavailable: (error: unknown) => void
}

/**
 * Writes to a sink and lets it rest when it asks for that, or does not answer: such a call is tried again for
 * `patienceMs` before it fails, so that nobody takes it for the fault of a change. All ranges of a worker share it.
 */
export class PatientWriter<T extends DocumentBody> {
  readonly #parts: PatientWriterParts<T>
  /** Until then the sink wants to be left alone; by the monotonic clock. */
  #restUntilMs = 0

  constructor(parts: PatientWriterParts<T>) {
    this.#parts = parts
  }

  async write(batch: readonly SinkEntry<T>[], context: SinkContext): Promise<void> {
    const { sink, clock, patienceMs, onUnavailable } = this.#parts
    const startedMs = clock.monotonicMs()
    for (let attempt = 1; ; attempt += 1) {
      await this.#rest(context.signal)
      try {
        await sink.write(batch, context)
        return
      } catch (error) {
        if (errorCode(error) !== 'ERR_SINK_UNAVAILABLE') throw error
        const retryAfterMs = retryAfterOf(error)
        if (retryAfterMs !== undefined) this.#rests(retryAfterMs)
        const pauseMs = this.#pauseMs(attempt)
        const spentMs = clock.monotonicMs() - startedMs + Math.max(pauseMs, retryAfterMs ?? 0)
        if (spentMs > patienceMs) throw error
        onUnavailable(error)
        await clock.sleep(pauseMs, context.signal)
      }
    }
  }

  #rests(forMs: number): void {
    const untilMs = this.#parts.clock.monotonicMs() + forMs
    this.#restUntilMs = Math.max(this.#restUntilMs, untilMs)
  }

  async #rest(signal: AbortSignal): Promise<void> {
    const { clock, longestWaitMs, patienceMs, ended } = this.#parts
    const leftMs = this.#restUntilMs - clock.monotonicMs()
    if (leftMs <= 0) return
    // Who is patient counts failures, and must not put a change aside because the job ends.
    const until = patienceMs > 0 ? signal : AbortSignal.any([signal, ended])
    await clock.sleep(Math.min(leftMs, longestWaitMs), until).catch(() => signal.throwIfAborted())
    if (leftMs <= longestWaitMs && !until.aborted) return
    throw new SinkUnavailableError(`the sink wants to be left alone for another ${leftMs} ms`)
  }

  #pauseMs(attempt: number): number {
    const wholeMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt - 1, 10))
    return wholeMs * (0.5 + this.#parts.random.fraction() / 2)
  }
}

/** By name: the error may be of another copy of this package. */
function retryAfterOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const value: unknown = Reflect.get(error, 'retryAfterMs')
  return typeof value === 'number' && value >= 0 ? Math.min(value, LONGEST_REST_MS) : undefined
}
