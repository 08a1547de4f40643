import type { Collection } from '@tidemark/store'
import type { ExpiringDocument } from './expiring-store.ts'

const BATCH = 100
const AT_ONCE = 40

/** Writes documents of one `ttl`, fast. */
export async function writeExpiring(
  documents: Collection<ExpiringDocument>,
  { count, ttl }: { readonly count: number; readonly ttl: number },
): Promise<void> {
  const batches = Math.ceil(count / BATCH)
  let next = 0
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < batches) {
        const number = next++
        const key = `key-${number}`
        const length = Math.min(BATCH, count - number * BATCH)
        const operations = Array.from({ length }, (_, index) => ({
          kind: 'create' as const,
          document: { id: `document-${index}`, key, ttl },
        }))
        await documents.batch(key, operations)
      }
    }),
  )
}
