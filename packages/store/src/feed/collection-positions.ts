import {
  InvalidOptionError,
  checkedGroupName,
  feedRangeId,
  type GroupPosition,
  type GroupPositions,
} from '@tidemark/contracts'
import type { OpenCollection } from '../documents/open-collection.ts'

/** Positions of processor groups, stored in the collection's own store. */
export class CollectionPositions implements GroupPositions {
  readonly #open: () => Promise<OpenCollection>

  constructor(open: () => Promise<OpenCollection>) {
    this.#open = open
  }

  /** Rejects with ERR_INVALID_OPTION and ERR_NOT_FOUND. */
  async report(positions: readonly GroupPosition[]): Promise<void> {
    for (const { group, range } of positions) {
      checkedGroupName(group)
      if (!(range.minInclusive < range.maxExclusive)) {
        throw new InvalidOptionError(`range ${feedRangeId(range)} is empty`)
      }
    }
    const { engine, record } = await this.#open()
    if (positions.length > 0) await engine.reportPositions(record, positions)
  }

  /** Rejects with ERR_INVALID_OPTION and ERR_NOT_FOUND. */
  async read(group: string): Promise<readonly GroupPosition[]> {
    const name = checkedGroupName(group)
    const { engine, record } = await this.#open()
    return engine.readPositions(record, name)
  }
}
