import { statSync } from 'node:fs'
import { StoreUnavailableError } from '@tidemark/contracts'

/** A reader can be this late to notice. */
const INTERVAL_MS = 1_000

/**
 * Detects that an open file was removed or replaced. The system would let the process continue with a file that no
 * other process can open any more: acknowledged writes would be lost, and a reader would wait for changes in vain.
 */
export class FileIdentity {
  readonly #file: string
  readonly #identity: string | undefined
  #nextMs = 0

  /** Records the identity of the present file. */
  constructor(file: string) {
    this.#file = file
    this.#identity = identityOf(file)
  }

  /** @throws ERR_STORE_UNAVAILABLE when the file is gone or was replaced */
  assertSame(): void {
    if (this.#identity === undefined || identityOf(this.#file) !== this.#identity) {
      throw new StoreUnavailableError(`${this.#file} was removed or replaced while it was open`)
    }
  }

  /** As `assertSame`, but at most once a second while there is no error. For reads, which would each pay for it. */
  assertSameNowAndThen(monotonicMs: number): void {
    if (monotonicMs < this.#nextMs) return
    this.assertSame()
    this.#nextMs = monotonicMs + INTERVAL_MS
  }
}

/**
 * Also undefined when it cannot be read: then no other process could open it. The device is part of it, because another
 * volume that is mounted in place of the folder may have a file of the same number.
 */
function identityOf(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}
