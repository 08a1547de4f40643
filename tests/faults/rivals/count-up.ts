import { errorCode } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import type { RivalDocument } from './rival-store.ts'

/** Adds one to a counter unless somebody else was faster. Resolves with whether it did. */
export async function countUp(
  documents: Collection<RivalDocument>,
  id: string,
): Promise<'counted' | 'refused'> {
  const { document } = await documents.read(id, id)
  if (document === undefined) throw new Error(`${id} is gone`)
  const { count } = document
  try {
    // With some weight, so that the write takes its time on the way.
    const filler = 'x'.repeat(4_000)
    await documents.replace({ id, key: id, count: count + 1, filler }, { ifMatch: document._etag })
    return 'counted'
  } catch (error) {
    if (errorCode(error) !== 'ERR_PRECONDITION_FAILED') throw error
    return 'refused'
  }
}
