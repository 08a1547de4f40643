/** Smaller pieces would spend themselves on their own commits. */
const LEAST_ITEMS = 100

/**
 * How many items the next piece may have, from how long the last one took: who writes meanwhile waits
 * for as long as a piece takes. The time includes what a piece itself waited for the commits before it,
 * so that pieces are small while there is much to write (TTL-5).
 */
export function nextPieceItems(
  items: number,
  { tookMs, pieceMs, maxItems }: { tookMs: number; pieceMs: number; maxItems: number },
): number {
  if (tookMs > pieceMs) return Math.min(maxItems, Math.max(LEAST_ITEMS, items >> 1))
  // Twice as many would still be within the time.
  return tookMs * 2 <= pieceMs ? Math.min(maxItems, items * 2) : items
}

/** Of the first piece, when nothing is known. */
export function firstPieceItems(maxItems: number): number {
  return Math.min(maxItems, LEAST_ITEMS)
}
