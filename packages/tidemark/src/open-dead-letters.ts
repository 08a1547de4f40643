import { DocumentDeadLetters, type DocumentDeadLettersOptions } from '@tidemark/processor'
import type { Database } from '@tidemark/store'

export interface OpenDeadLettersOptions extends Omit<
  DocumentDeadLettersOptions,
  'partitionKeyVersion'
> {
  /** Name of the collection that holds the letters. @default `<monitored collection>-deadletters` */
  readonly id?: string | undefined
}

/** Name of the collection that holds the dead letters of a collection, unless you choose another one. */
export function deadLettersId(collectionId: string): string {
  return `${collectionId}-deadletters`
}

/**
 * The dead letters of a collection's groups, in a collection in the same database. Creates it if it is missing; safe to
 * call concurrently. Nothing in it expires.
 *
 * Rejects with ERR_NOT_FOUND when the monitored collection is missing, with ERR_COLLECTION_MISMATCH when the other one
 * exists with another partition key.
 */
export async function openDeadLetters(
  database: Database,
  collectionId: string,
  options: OpenDeadLettersOptions = {},
): Promise<DocumentDeadLetters> {
  const { id = deadLettersId(collectionId), ...rest } = options
  const { definition } = await database.collection(collectionId).readRecord()
  const collection = await database.createCollectionIfNotExists({
    id,
    partitionKey: '/partitionKey',
  })
  const { version } = definition.partitionKey
  const letters = new DocumentDeadLetters(collection, { ...rest, partitionKeyVersion: version })
  await letters.listGroups()
  return letters
}
