import { InvalidOptionError, type DocumentBody } from '@tidemark/contracts'
import type { RankedFold } from './fold.ts'
import type { FoldedProperty, FoldPart } from './folded.ts'
import { orderCode } from './order-code.ts'

/** The first of a key's ranked documents: of all of them, if there are no more than `limit`. */
interface Ranking {
  /** Of all ranked documents. */
  readonly count: number
  readonly first: readonly FoldPart[]
}

const MAX_LIMIT = 1_000

/**
 * A fold over the first documents of an order. The index has all of them in this order, so that when one of the first
 * leaves, the next is found by reading a few.
 *
 * @throws ERR_INVALID_OPTION
 */
export function rankedProperty<T extends DocumentBody>(
  name: string,
  fold: RankedFold<T>,
): FoldedProperty<T> {
  const { limit, first } = fold
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new InvalidOptionError(
      `fold.${name} must have a limit of 1 to ${MAX_LIMIT}, got ${limit}`,
    )
  }
  const empty: Ranking = { count: 0, first: [] }
  return {
    name,
    kind: fold.kind,
    isIndexed: true,
    empty,
    part(document, tie) {
      const score = fold.score(document) ?? undefined
      if (score === undefined) return undefined
      return { kept: `${orderCode(score, first)}-${tie}`, added: fold.select(document, score) }
    },
    change(state, { removed, added }) {
      const before = ranking(state)
      const gone = new Set(removed)
      const left = before.first.filter(({ kept }) => !gone.has(kept))
      const count = before.count - removed.length + added.length
      const merged = [...left, ...added].toSorted((a, b) => (id(a) < id(b) ? -1 : 1))
      // What is not known comes after the last that was known.
      const last = before.first.at(-1)
      const known = merged.findLastIndex((part) => last !== undefined && id(part) <= id(last)) + 1
      const isWhole = before.first.length === before.count || known >= limit
      return { state: { count, first: merged.slice(0, limit) }, isWhole }
    },
    async remake(changed, parts) {
      const taken: FoldPart[] = []
      for await (const part of parts) {
        taken.push(part)
        if (taken.length === limit) break
      }
      return { count: ranking(changed).count, first: taken }
    },
    value(state) {
      const ranked = ranking(state).first
      return ranked.length === 0 ? undefined : fold.value(ranked.map(({ added }) => added))
    },
  }
}

const id = ({ kept }: FoldPart): string => String(kept)

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- states come back as they were stored
const ranking = (state: unknown): Ranking => state as Ranking
