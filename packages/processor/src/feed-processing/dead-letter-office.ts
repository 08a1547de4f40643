import type { Change, DeadLetter, DocumentBody } from '@tidemark/contracts'
import { deadLetterOf } from '../dead-letters/dead-letter-of.ts'
import { backoffMs } from './backoff.ts'
import type { PumpParts } from './pump-parts.ts'

/** One range's dead letters: sends them off, and fetches those that an operator sent back. */
export class DeadLetterOffice<T extends DocumentBody> {
  readonly #parts: PumpParts<T>
  readonly #redriven: DeadLetter<T>[] = []
  /** Letters that were sent back, by id, until they are settled or put back: the sink names them again till then. */
  readonly #inHand = new Set<string>()

  constructor(parts: PumpParts<T>) {
    this.#parts = parts
  }

  /** Keeps a change that could not be processed; false when the end came first. */
  take(
    change: Change<T>,
    failure: { readonly error: unknown; readonly attempts: number },
  ): Promise<boolean> {
    return this.#put(change, failure)
  }

  /** A letter that was sent back failed again: no new one, whatever else fails. False when the end came first. */
  async putBack(
    { id, change }: DeadLetter<T>,
    failure: { readonly error: unknown; readonly attempts: number },
  ): Promise<boolean> {
    if (!(await this.#put(change, failure))) return false
    this.#inHand.delete(id)
    return true
  }

  /** The next letter that is to be processed after all. */
  takeRedriven(): DeadLetter<T> | undefined {
    return this.#redriven.shift()
  }

  /** The range is read again, and what is in hand is fetched again. */
  startOver(): void {
    this.#redriven.length = 0
    this.#inHand.clear()
  }

  get hasRedriven(): boolean {
    return this.#redriven.length > 0
  }

  /** A letter that was sent back was accepted; false when the end came before that was noted. */
  async settle(letter: DeadLetter<T>): Promise<boolean> {
    const { deadLetters: sink, ending, onNotice } = this.#parts
    const settle = async (): Promise<void> => sink?.settle?.(letter, { signal: ending.endedSignal })
    if (!(await this.#untilDone(settle))) return false
    this.#inHand.delete(letter.id)
    onNotice({ kind: 'redriven', letterId: letter.id, lsn: letter.change.lsn })
    return true
  }

  /** Looks for letters sent back, now and then, until the end. Never rejects. */
  async run(): Promise<void> {
    const { deadLetters: sink, seat, options, clock, bell, ending, onNotice } = this.#parts
    const { range } = seat.lease
    if (sink?.takeRedriven === undefined) return
    const signal = ending.endedSignal
    const { group, redrivePollMs } = options
    for (let failures = 0; !ending.isAsked;) {
      try {
        if (this.#inHand.size === 0) {
          await ending.untilSettled(this.#fetch(sink.takeRedriven({ group, range, signal })))
          if (this.#redriven.length > 0) bell.ring()
        }
        failures = 0
      } catch (error) {
        if (ending.isAsked) return
        failures += 1
        onNotice({
          kind: 'deadLetterFailed',
          error,
          attempt: failures,
          retryInMs: redrivePollMs,
        })
      }
      try {
        await clock.sleep(redrivePollMs, signal, { purpose: 'background' })
      } catch {
        return
      }
    }
  }

  async #fetch(taking: Promise<readonly DeadLetter<T>[]>): Promise<void> {
    for (const letter of await taking) {
      this.#redriven.push(letter)
      this.#inHand.add(letter.id)
    }
  }

  async #put(
    change: Change<T>,
    { error, attempts }: { readonly error: unknown; readonly attempts: number },
  ): Promise<boolean> {
    const { deadLetters: sink, feed, seat, options, clock, ending, onNotice } = this.#parts
    const { range } = seat.lease
    const { group, hostName } = options
    const failedAtMs = clock.wallMs()
    const about = { group, feed: feed.identity, range, hostName, failedAtMs }
    const letter = deadLetterOf({ ...about, change, error, attempts })
    const isKept = await this.#untilDone(async () =>
      sink?.put(letter, { signal: ending.endedSignal }),
    )
    if (!isKept) return false
    const { id, partitionKey, lsn } = change
    const what = { letterId: letter.id, id, partitionKey, lsn, attempts, error }
    onNotice({ kind: 'deadLettered', ...what })
    return true
  }

  async #untilDone(act: () => Promise<void>): Promise<boolean> {
    const { clock, random, options, ending, fence, onNotice } = this.#parts
    for (let attempt = 1; !ending.isAsked; attempt += 1) {
      try {
        // A sink that ignores its signal keeps nobody.
        return await ending.untilSettled(act())
      } catch (error) {
        if (ending.isAsked || fence.sees(error)) break
        const retryInMs = backoffMs(attempt, {
          baseMs: options.retryDelayMs,
          maxMs: options.retryMaxDelayMs,
          fraction: random.fraction(),
        })
        onNotice({ kind: 'deadLetterFailed', error, attempt, retryInMs })
        await clock.sleep(retryInMs, ending.endedSignal).catch(() => {})
      }
    }
    return false
  }
}
