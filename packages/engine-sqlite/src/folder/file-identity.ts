import { statSync } from 'node:fs'
import { StoreUnavailableError } from '@tidemark/contracts'

/** A reader may be so late to notice. */
const INTERVAL_MS = 1_000

/**
 * Notices that an open file was removed or replaced. The system would let the process go on with a file that nobody
 * else can open any more: every acknowledgement would be a lie, and a reader would wait for changes in vain.
 */
export class FileIdentity {
  readonly #file: string
  readonly #identity: string | undefined
  #nextMs = 0

  /** Takes the file that is there now. */
  constructor(file: string) {
    this.#file = file
    this.#identity = identityOf(file)
  }

  /** @throws ERR_STORE_UNAVAILABLE when the file is gone, or another one */
  assertSame(): void {
    if (this.#identity === undefined || identityOf(this.#file) !== this.#identity) {
      throw new StoreUnavailableError(`${this.#file} was removed or replaced while it was open`)
    }
  }

  /** As `assertSame`, at most once a second while all is well. For reads, of which each would pay. */
  assertSameNowAndThen(monotonicMs: number): void {
    if (monotonicMs < this.#nextMs) return
    this.assertSame()
    this.#nextMs = monotonicMs + INTERVAL_MS
  }
}

/**
 * Undefined also where it cannot be looked at: nobody else could open it then. The device counts, since another volume
 * that is mounted in the folder's place may have a file of the same number.
 */
function identityOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}
