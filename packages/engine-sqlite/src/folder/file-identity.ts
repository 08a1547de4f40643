import { statSync } from 'node:fs'
import { StoreUnavailableError } from '@tidemark/contracts'

/**
 * Notices that an open file was removed or replaced. The system would let the process write on into a
 * file that nobody can open any more, and every acknowledgement would be a lie.
 */
export class FileIdentity {
  readonly #file: string
  readonly #inode: bigint | undefined

  /** Takes the file that is there now. */
  constructor(file: string) {
    this.#file = file
    this.#inode = inodeOf(file)
  }

  /** @throws ERR_STORE_UNAVAILABLE when the file is gone, or another one */
  assertSame(): void {
    if (this.#inode === undefined || inodeOf(this.#file) !== this.#inode) {
      throw new StoreUnavailableError(`${this.#file} was removed or replaced while it was open`)
    }
  }
}

function inodeOf(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino
}
