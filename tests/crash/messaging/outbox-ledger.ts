import type { JournalLine } from './message-journal.ts'
import type { FoundMessage } from './message-ledger.ts'
import { ORDERS } from './messaging-store.ts'

/** Each document was committed with a message of the same id: both are there, or neither. */
export class OutboxLedger {
  /** Of messages that were there, or were being removed. */
  readonly #seen = new Set<string>()

  read(lines: readonly JournalLine[]): void {
    for (const { deed, entity, id } of lines) {
      if (entity === ORDERS && deed === 'removing') this.#seen.add(id)
    }
  }

  faults(documents: readonly string[], found: readonly FoundMessage[]): readonly string[] {
    for (const { entity, id } of found) if (entity === ORDERS) this.#seen.add(id)
    const written = new Set(documents)
    return [
      ...documents.filter((id) => !this.#seen.has(id)).map((id) => `document ${id}: no message`),
      ...[...this.#seen].filter((id) => !written.has(id)).map((id) => `message ${id}: no document`),
    ]
  }
}
