import { Option, type Command } from 'commander'
import {
  InvalidOptionError,
  ResourceNotFoundError,
  type PartitionKeyComponent,
} from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { keyReader } from '../inspection/document-key.ts'
import { collectionName, type CollectionName } from './arguments/parse-arguments.ts'
import { partitionKeyValue, shownPartitionKey } from './arguments/parse-value.ts'
import { existingCollection } from './existing-collection.ts'
import { openExistingStore } from './open-existing-store.ts'
import type { StoreOptions } from './store-options.ts'

export interface PartitionKeyFlag {
  readonly partitionKey?: readonly PartitionKeyComponent[]
}

export interface AddressOptions extends StoreOptions, PartitionKeyFlag {}

/** One document: where it is, and its key. */
export interface FoundDocument {
  readonly collection: Collection
  readonly id: string
  readonly partitionKey: readonly PartitionKeyComponent[]
}

/** Under the help of each command that names one document. */
export const ADDRESS_HELP = `
Without --partition-key, the command finds the document by its id. Where the id
is not the partition key it reads the whole collection for that, and if several
documents have the id, it names their keys and changes nothing.
`

/** More keys than that are not named. */
const FEW = 5

export function partitionKeyFlag(description: string): Option {
  return new Option('--partition-key <value>', description).argParser(partitionKeyValue)
}

/** Adds the arguments and options that name one document. */
export function withDocumentAddress(command: Command): Command {
  return command
    .argument('<collection>', 'database/collection', collectionName)
    .argument('<id>', 'id of the document')
    .addOption(partitionKeyFlag('its partition key value; repeat it for a hierarchical one'))
}

/** Finds the document and acts on it. Rejects with ERR_NOT_FOUND, and ERR_INVALID_OPTION when several have the id. */
export async function withDocument<Result>(
  name: CollectionName,
  { id, options }: { readonly id: string; readonly options: AddressOptions },
  act: (found: FoundDocument) => Promise<Result>,
): Promise<Result> {
  await using store = await openExistingStore(options.store, { maintenance: 'manual' })
  const collection = await existingCollection(store, name)
  const partitionKey = options.partitionKey ?? (await keyOfId(collection, id))
  return await act({ collection, id, partitionKey })
}

async function keyOfId(
  collection: Collection,
  id: string,
): Promise<readonly PartitionKeyComponent[]> {
  const paths = collection.partitionKeyPaths
  if (paths.length === 1 && paths[0] === '/id') return [id]
  const [only, ...others] = await keysOfId(collection, id)
  if (only === undefined) throw new ResourceNotFoundError('document', id)
  if (others.length === 0) return only
  const keys = [only, ...others].slice(0, FEW).map(shownPartitionKey)
  const more = others.length >= FEW ? ' and others' : ''
  throw new InvalidOptionError(
    `several documents have the id ${JSON.stringify(id)}: name one of them by --partition-key, ` +
      `which is ${keys.join(', ')}${more}`,
  )
}

/** The keys of all documents with this id. Reads the collection page by page, up to some keys more than are named. */
async function keysOfId(
  collection: Collection,
  id: string,
): Promise<readonly (readonly PartitionKeyComponent[])[]> {
  const keyOf = keyReader({ paths: collection.partitionKeyPaths })
  const keys: (readonly PartitionKeyComponent[])[] = []
  let continuation: string | undefined
  do {
    const page = await collection.readDocuments({ continuation })
    for (const document of page.documents) if (document.id === id) keys.push(keyOf(document))
    continuation = page.continuation
  } while (continuation !== undefined && keys.length <= FEW)
  return keys
}
