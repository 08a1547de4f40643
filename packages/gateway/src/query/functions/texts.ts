import type { QueryBudget } from '../query-budget.ts'

/** V8 keeps shorter pieces of a text as texts of their own. */
const SHORTEST_SLICE = 13
/** V8 finds this much in time that is linear; longer patterns can make its search quadratic. */
const HEAD_CHARS = 8

/** A piece cut out of a text, without keeping the whole text in memory as V8's slices do. */
export function detached(piece: string): string {
  return piece.length < SHORTEST_SLICE ? piece : ` ${piece}`.slice(1)
}

/**
 * Where `wanted` begins in a text, from a place on; -1 = nowhere. Each place where only its beginning stands is
 * charged.
 */
export function findText(
  text: string,
  wanted: string,
  { from = 0, budget }: { readonly from?: number; readonly budget: QueryBudget },
): number {
  const head = wanted.slice(0, HEAD_CHARS)
  let at = text.indexOf(head, from)
  while (at >= 0 && !text.startsWith(wanted, at)) {
    budget.read(wanted.length)
    at = text.indexOf(head, at + 1)
  }
  return at
}

/** The pieces between all places where `separator`, which is not empty, stands. */
export function splitText(text: string, separator: string, budget: QueryBudget): string[] {
  const pieces: string[] = []
  let start = 0
  for (;;) {
    budget.makeItems(1)
    const end = findText(text, separator, { from: start, budget })
    pieces.push(detached(text.slice(start, end < 0 ? text.length : end)))
    if (end < 0) return pieces
    start = end + separator.length
  }
}
