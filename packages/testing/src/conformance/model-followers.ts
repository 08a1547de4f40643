import { errorCode, type FeedRange, LIVE_ROW, feedVersion } from '@tidemark/contracts'
import { type EngineFeedPage, type EngineVersionPage, type FeedCount } from '@tidemark/store/engine'
import { expect } from 'vitest'
import { keyText, versionText } from './engine-model.ts'
import { parsed, type EngineFixture } from './storage-engine-fixtures.ts'

interface Position {
  readonly range: FeedRange
  readonly lsn: number
}

type PageEnd = Pick<EngineFeedPage, 'lsn' | 'caughtUp' | 'horizon'>

/**
 * Keeps positions over splits and merges: where a range is gone it goes on in the parts of its successors,
 * at the LSN where it was. A page is taken only at positions that were reached before.
 */
class Positions {
  /** True once it was told that something which it had not seen is purged. */
  horizonPassed = false
  readonly #readPage: (position: Position, maxItems: number) => Promise<PageEnd>
  readonly #positions: Position[]
  #turn = 0

  constructor(
    range: FeedRange,
    readPage: (position: Position, maxItems: number) => Promise<PageEnd>,
  ) {
    this.#positions = [{ range, lsn: 0 }]
    this.#readPage = readPage
  }

  /** One page of one of its parts; true when that part has come to its end. */
  async readPage(maxItems: number): Promise<boolean> {
    const at = this.#turn++ % this.#positions.length
    const position = this.#positions[at]
    if (position === undefined) return true
    const { range } = position
    try {
      const { lsn, caughtUp, horizon } = await this.#readPage(position, maxItems)
      expect(lsn).toBeGreaterThanOrEqual(position.lsn)
      if (horizon > position.lsn) this.horizonPassed = true
      this.#positions[at] = { range, lsn }
      return caughtUp
    } catch (error) {
      if (errorCode(error) !== 'ERR_RANGE_GONE') throw error
      const { successors } = error as { successors: readonly FeedRange[] }
      const parts = successors.map((successor) => ({ ...position, range: cut(successor, range) }))
      this.#positions.splice(at, 1, ...parts)
      return false
    }
  }

  /** All that there is. */
  async readToEnd(maxItems: number): Promise<void> {
    for (let caughtUp = 0; caughtUp < this.#positions.length;) {
      caughtUp = (await this.readPage(maxItems)) ? caughtUp + 1 : 0
    }
  }
}

/** Follows the feed: the newest version of each key, and every pending delete. */
export class FeedFollower {
  readonly positions: Positions
  /** `n` of the newest version seen, by key. */
  readonly newest: Map<string, number> = new Map()
  /** `n` of every version whose pending delete was seen. */
  readonly gone: Set<number> = new Set()
  readonly #order = new RisingLsns()

  constructor(fixture: EngineFixture, range: FeedRange) {
    this.positions = new Positions(range, async (position, maxItems) => {
      const { range, lsn } = position
      const count = await fixture.counted(lsn, { range, maxItems })
      const page = await fixture.page(lsn, { range, maxItems })
      expectSame(count, page)
      this.#take(page)
      return page
    })
  }

  #take({ rows }: EngineFeedPage): void {
    for (const row of rows) {
      const [lsn, kind] = row
      const { pk, id, n } = parsed(feedVersion(row))
      const key = keyText({ pk: String(pk), id: String(id) })
      this.#order.note(key, lsn)
      if (kind === LIVE_ROW) {
        this.newest.set(key, Number(n))
        continue
      }
      // Once per expiry.
      expect(this.gone.has(Number(n))).toBe(false)
      this.gone.add(Number(n))
      this.newest.delete(key)
    }
  }
}

/** Follows the log of all versions. */
export class LogFollower {
  readonly positions: Positions
  /** Entries by key. */
  readonly seen: Map<string, string[]> = new Map()
  readonly #order = new RisingLsns()

  constructor(fixture: EngineFixture, range: FeedRange) {
    this.positions = new Positions(range, async (position, maxItems) => {
      const { range, lsn } = position
      const count = await fixture.counted(lsn, { range, maxItems, mode: 'allVersions' })
      const page = await fixture.versions(lsn, { range, maxItems })
      expectSame(count, page)
      this.#take(page)
      return page
    })
  }

  #take({ rows }: EngineVersionPage): void {
    for (const row of rows) {
      const [pk] = JSON.parse(row.partitionKey) as [string]
      const key = keyText({ pk, id: row.id })
      this.#order.note(key, row.lsn)
      this.seen.set(key, [...(this.seen.get(key) ?? []), versionText(row)])
    }
  }
}

/** A count is of what the page has that the same reader would get. */
function expectSame(
  count: FeedCount,
  page: PageEnd & Pick<EngineFeedPage, 'horizons'> & { readonly rows: { readonly length: number } },
): void {
  expect(count.rows).toBe(page.rows.length)
  expect(count.newestLsn).toBeGreaterThanOrEqual(page.lsn)
  expect(count.newestLsn === page.lsn).toBe(page.caughtUp)
  if (page.caughtUp) expect(count.isExact).toBe(true)
  if (count.isExact && count.rows === 0) expect(page.caughtUp).toBe(true)
  expect(count.horizons).toEqual(page.horizons)
}

/** LSNs of each key rise, however its range was cut meanwhile (CF-3). */
class RisingLsns {
  readonly #last = new Map<string, number>()

  note(key: string, lsn: number): void {
    expect(lsn).toBeGreaterThan(this.#last.get(key) ?? 0)
    this.#last.set(key, lsn)
  }
}

function cut(a: FeedRange, b: FeedRange): FeedRange {
  return {
    minInclusive: a.minInclusive > b.minInclusive ? a.minInclusive : b.minInclusive,
    maxExclusive: a.maxExclusive < b.maxExclusive ? a.maxExclusive : b.maxExclusive,
  }
}
