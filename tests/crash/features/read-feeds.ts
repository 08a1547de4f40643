import { decodeContinuation, type Change, type RangePosition } from '@tidemark/contracts'
import type { StartPosition } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { keyOf, type FeatureDocument } from './feature-store.ts'

type Documents = Collection<FeatureDocument>
type ChangeOf<Kind extends Change['kind']> = Extract<
  Change<FeatureDocument>,
  { readonly kind: Kind }
>

export interface ReadFeed {
  readonly documents: readonly ChangeOf<'document'>[]
  readonly pendingDeletes: readonly ChangeOf<'pendingDelete'>[]
  readonly versions: readonly ChangeOf<'version'>[]
  readonly continuation: string
  /** Where each range's reader stands at the end, and the horizon it met. */
  readonly positions: readonly RangePosition[]
  /** LSNs of a range that went back. */
  readonly faults: readonly string[]
}

/** Reads a feed to its end. */
export async function readFeed(
  documents: Documents,
  options: {
    readonly from: StartPosition
    readonly mode?: 'latestVersion' | 'allVersions'
    readonly maxItemCount?: number
    readonly pendingDeletes?: boolean
  },
): Promise<ReadFeed> {
  const changes: Change<FeatureDocument>[] = []
  const faults: string[] = []
  const newest = new Map<string, number>()
  let continuation = ''
  for await (const page of documents.changes({ ...options, follow: false })) {
    for (const change of page.changes) {
      const range = page.range.minInclusive
      if (change.lsn < (newest.get(range) ?? 0)) {
        faults.push(`${change.id} came with LSN ${change.lsn} after ${newest.get(range)}`)
      }
      newest.set(range, change.lsn)
      changes.push(change)
    }
    continuation = page.continuation
  }
  return {
    documents: changes.filter((change) => change.kind === 'document'),
    pendingDeletes: changes.filter((change) => change.kind === 'pendingDelete'),
    versions: changes.filter((change) => change.kind === 'version'),
    continuation,
    positions: decodeContinuation(continuation).positions,
    faults,
  }
}

/** All documents by key, read by keys and not through the feed. */
export async function scanVersions(documents: Documents): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  let continuation: string | undefined
  do {
    const page = await documents.readDocuments({ maxItemCount: 500, continuation })
    for (const document of page.documents) found.set(keyOf(document), document.version)
    continuation = page.continuation
  } while (continuation !== undefined)
  return found
}
