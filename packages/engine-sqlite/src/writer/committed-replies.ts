import type { CommittedBatch } from '@tidemark/store/engine'
import type { TouchedRange, WriterReply, WriterResult } from './writer-messages.ts'

type CommittedResult = Extract<WriterResult, { kind: 'committed' }>

/*
 * The form in which successful commits cross to the caller's thread: one list of numbers for a whole group, because
 * copying thousands of small objects between threads cost a tenth of the writer's time. A commit is: id, time, number
 * of batches. A batch is: collection, range, LSN, number of operations, and for each of them 1 if there was a document
 * before, else 0.
 */

/** Appends a reply; false when its commit did not succeed, or sent messages. */
export function packReply(packed: number[], { id, result }: WriterReply): boolean {
  if (result.kind !== 'committed' || result.outcome.kind !== 'committed') return false
  const { outcome, touched, messages } = result
  // Its answer says more, and few are of this kind.
  if (messages !== undefined) return false
  packed.push(id, outcome.timeMs, outcome.batches.length)
  for (const [index, { lsn, existed }] of outcome.batches.entries()) {
    const place = touched[index]
    packed.push(place?.collection ?? 0, place?.range ?? 0, lsn, existed.length)
    for (const there of existed) packed.push(there ? 1 : 0)
  }
  return true
}

/** Calls `take` for each reply of a list that `packReply` made. */
export function unpackReplies(
  packed: readonly number[],
  take: (id: number, result: CommittedResult) => void,
): void {
  let position = 0
  const next = (): number => packed[position++] ?? 0
  while (position < packed.length) {
    const id = next()
    const timeMs = next()
    const batches: CommittedBatch[] = []
    const touched: TouchedRange[] = []
    for (let left = next(); left > 0; left--) {
      const collection = next()
      const range = next()
      const lsn = next()
      const existed: boolean[] = []
      for (let operations = next(); operations > 0; operations--) existed.push(next() === 1)
      batches.push({ lsn, existed })
      touched.push({ collection, range, lsn })
    }
    take(id, { kind: 'committed', outcome: { kind: 'committed', timeMs, batches }, touched })
  }
}
