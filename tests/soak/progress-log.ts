import { appendFileSync, existsSync, readFileSync, statSync, unlinkSync } from 'node:fs'
import { machineMs } from '../faults/history.ts'

/** One batch that was done. */
export interface Progress {
  /** The machine's monotonic clock, the same in every process. */
  readonly atMs: number
  /** `key:number` each. */
  readonly ids: readonly string[]
}

const FILE_BYTES = 256 * 1024

/** What one process has done, in files of bounded size that are removed by whoever has read them. */
export class ProgressLog {
  readonly #path: string
  #index = 0

  constructor(path: string) {
    this.#path = path
  }

  /** Written synchronously, so that the line is there even if the process dies right after. */
  note(ids: readonly string[]): void {
    const file = `${this.#path}-${this.#index}`
    appendFileSync(file, `${JSON.stringify({ atMs: machineMs(), ids } satisfies Progress)}\n`)
    if (statSync(file).size > FILE_BYTES) this.#index += 1
  }
}

export class ProgressReader {
  readonly #path: string
  #index = 0
  #readBytes = 0

  constructor(path: string) {
    this.#path = path
  }

  /** What came since the last call: whole lines. */
  read(): readonly Progress[] {
    const found: Progress[] = []
    for (;;) {
      const file = `${this.#path}-${this.#index}`
      // Looked for before: then nothing more comes into this one.
      const isOver = existsSync(`${this.#path}-${this.#index + 1}`)
      if (!existsSync(file)) return found
      const bytes = readFileSync(file).subarray(this.#readBytes)
      const whole = bytes.subarray(0, bytes.lastIndexOf('\n') + 1)
      this.#readBytes += whole.length
      const lines = whole.toString('utf8').split('\n').slice(0, -1)
      found.push(...lines.map((line) => JSON.parse(line) as Progress))
      if (!isOver) return found
      unlinkSync(file)
      this.#index += 1
      this.#readBytes = 0
    }
  }
}
