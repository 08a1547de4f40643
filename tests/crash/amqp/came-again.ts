import type { JournalLine } from '../messaging/message-journal.ts'

/** Messages that somebody received although their completion had been acknowledged. */
export class CameAgain {
  readonly #removed = new Set<string>()

  /** Of one process, in the order in which it wrote them. */
  faults(lines: readonly JournalLine[]): readonly string[] {
    const faults: string[] = []
    for (const { deed, entity, id } of lines) {
      const key = `${entity} ${id}`
      if (deed === 'removing' && this.#removed.has(key)) faults.push(`${key} came again`)
      if (deed === 'removed') this.#removed.add(key)
    }
    return faults
  }
}
