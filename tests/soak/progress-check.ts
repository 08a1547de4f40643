import type { Progress } from './progress-log.ts'

const MAX_NAMED = 10

/**
 * Judges what was done while it goes on, in bounded memory: each key's changes are numbered, and each must be done
 * after the one before it.
 */
export class ProgressCheck {
  /** Sentences; the first ones. */
  readonly wrong: string[] = []
  done = 0
  repeated = 0
  /** The highest number of each key that was done, with all before it. */
  readonly #newest = new Map<string, number>()
  #waiting: Progress[] = []

  /** From any process, in any order. */
  add(progress: readonly Progress[]): void {
    this.#waiting.push(...progress)
  }

  /** Judges what was done before `untilMs`; by then everything of that time must have been added. */
  judge(untilMs: number): void {
    const due = this.#waiting.filter(({ atMs }) => atMs < untilMs)
    this.#waiting = this.#waiting.filter(({ atMs }) => atMs >= untilMs)
    for (const { ids } of due.toSorted((a, b) => a.atMs - b.atMs)) {
      for (const id of ids) this.#take(id)
    }
  }

  /** Of the changes that were written, by key the number of the last one, those that were not done. */
  missing(written: ReadonlyMap<string, number>): number {
    let count = 0
    for (const [key, last] of written) count += Math.max(0, last - (this.#newest.get(key) ?? -1))
    return count
  }

  #take(id: string): void {
    const [key = '', text] = id.split(':')
    const number = Number(text)
    const newest = this.#newest.get(key) ?? -1
    if (number <= newest) {
      this.repeated += 1
      return
    }
    if (number > newest + 1 && this.wrong.length < MAX_NAMED) {
      this.wrong.push(`${id} was done before ${key}:${newest + 1}`)
    }
    this.done += 1
    this.#newest.set(key, number)
  }
}
