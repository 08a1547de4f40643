import type { AllVersionsPolicy, Collection, UniqueKey } from '@tidemark/store'
import { textTable } from './text-table.ts'

/** What `tidemark ls` and `create` print of a collection. */
export interface ShownCollection {
  readonly database: string
  readonly collection: string
  readonly partitionKey: readonly string[]
  readonly pkRanges: number
  readonly documents: number
  readonly defaultTtl: number | null
  readonly allVersions: AllVersionsPolicy | null
  readonly uniqueKeys: readonly UniqueKey[]
}

/** Counts the documents. Rejects with ERR_NOT_FOUND. */
export async function shownCollection(collection: Collection): Promise<ShownCollection> {
  const { definition } = await collection.readRecord()
  const { partitionKey, defaultTtl, allVersions, uniqueKeys = [] } = definition
  return {
    database: collection.databaseId,
    collection: collection.id,
    partitionKey: partitionKey.paths,
    pkRanges: (await collection.readFeedRanges()).length,
    documents: await collection.count(),
    defaultTtl,
    allVersions,
    uniqueKeys,
  }
}

export function collectionTable(collections: readonly ShownCollection[]): string {
  const headings = ['COLLECTION', 'PARTITION KEY', 'PKRANGES', 'DOCUMENTS', 'TTL', 'ALL VERSIONS']
  return textTable(
    [...headings, 'UNIQUE'],
    collections.map((one) => [
      one.collection,
      one.partitionKey.join(','),
      one.pkRanges,
      one.documents,
      one.defaultTtl ?? 'off',
      one.allVersions === null ? 'off' : `${one.allVersions.retentionSeconds} s`,
      one.uniqueKeys.map((paths) => paths.join(',')).join(' ') || '-',
    ]),
  )
}
