/** Documents that one step skips. Between steps, other readers have their turn. */
const DOCUMENTS_A_STEP = 5000

/**
 * The EPK of the document in the middle, moved up to the next EPK if it is the first one: a split there leaves
 * documents on both sides. Undefined when all documents have the same EPK.
 */
export async function findMiddle(
  documents: number,
  epkAfter: (place: {
    readonly after: string
    readonly skip: number
  }) => Promise<string | undefined>,
): Promise<string | undefined> {
  const first = await epkAfter({ after: '', skip: 0 })
  if (first === undefined) return undefined
  let after = ''
  let middle = first
  // Each step skips whole EPKs, so it may end early at an EPK with many documents.
  for (let left = Math.floor(documents / 2); left > 0; left -= DOCUMENTS_A_STEP) {
    const next = await epkAfter({ after, skip: Math.min(left, DOCUMENTS_A_STEP) })
    if (next === undefined) break
    middle = next
    after = next
  }
  return middle === first ? epkAfter({ after: first, skip: 0 }) : middle
}
