import type { JournalEntry } from './journal.ts'

/** What happened in a run, as the processes that did it noted. */
export class FeatureTotals {
  acknowledged = 0
  ttlChanges = 0
  /** Kills in the middle of a split or merge. */
  rangesCutOff = 0
  /** Rows that were folded between rounds. */
  foldedAtRest = 0
  readonly #events = new Map<string, number>()

  add(journal: readonly JournalEntry[]): void {
    let isChanging = false
    for (const entry of journal) {
      if (entry.kind === 'done') this.acknowledged++
      else if (entry.kind === 'ttlDone') this.ttlChanges++
      else if (entry.kind === 'event') {
        this.#events.set(entry.name, this.of(entry.name) + entry.items)
      } else if (entry.kind === 'rangesBegin') isChanging = true
      else if (entry.kind === 'rangesDone') isChanging = false
    }
    if (isChanging) this.rangesCutOff++
  }

  /** How much of a store's event there was. */
  of(name: string): number {
    return this.#events.get(name) ?? 0
  }
}
