/** Smaller pieces would mostly pay for their own commits. */
const LEAST_ITEMS = 100

/**
 * How many items the next piece can have, from the duration of the last one: other writers wait as long as a piece
 * takes. The duration includes the wait of the piece for the commits before it, so pieces are small while there is much
 * to write (TTL-5).
 */
export function nextPieceItems(
  items: number,
  { tookMs, pieceMs, maxItems }: { tookMs: number; pieceMs: number; maxItems: number },
): number {
  if (tookMs > pieceMs) return Math.min(maxItems, Math.max(LEAST_ITEMS, items >> 1))
  // Twice the number would still be within the time.
  return tookMs * 2 <= pieceMs ? Math.min(maxItems, items * 2) : items
}

/** For the first piece, when nothing is known. */
export function firstPieceItems(maxItems: number): number {
  return Math.min(maxItems, LEAST_ITEMS)
}
