import type { JournalLine } from '../messaging/message-journal.ts'

/**
 * Messages whose completion was acknowledged twice. That somebody tries to complete one after that says nothing: it may have come
 * before, under a lock that ended.
 */
export class CameAgain {
  readonly #removed = new Set<string>()

  /** Of one process, in the order in which it wrote them. */
  faults(lines: readonly JournalLine[]): readonly string[] {
    const faults: string[] = []
    for (const { deed, entity, id } of lines) {
      if (deed !== 'removed') continue
      const key = `${entity} ${id}`
      if (this.#removed.has(key)) faults.push(`${key} came again`)
      this.#removed.add(key)
    }
    return faults
  }
}
