import { Command } from 'commander'
import { errorCode } from '@tidemark/contracts'
import type { Collection, CollectionOptions, Store } from '@tidemark/store'
import {
  collectionName,
  propertyPaths,
  wholeNumber,
  type CollectionName,
} from '../arguments/parse-arguments.ts'
import { defaultTtl } from '../arguments/parse-ttl.ts'
import type { CommandContext } from '../command-context.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { collectionTable, shownCollection } from '../output/collection-table.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { withStoreOptions, type StoreOptions } from '../store-options.ts'

interface CreateOptions extends StoreOptions {
  readonly partitionKey: readonly string[]
  readonly partitionCount?: number
  readonly ttl?: number | null
  readonly unique?: readonly (readonly string[])[]
  readonly allVersions?: number
}

const HELP = `
Partition key and unique keys stay for good. The rest can be changed: see
"tidemark ttl set", "versions set", "ranges split". A document whose --ttl is
over is gone, unless it has a ttl of its own. A collection that exists is an
error, and stays as it is.

Examples:
  tidemark create shop/orders --partition-key /customerId --store ./data
  tidemark create shop/sessions --partition-key /user --ttl 3600 --store ./data
  tidemark create shop/users --partition-key /tenant --unique /email \\
    --unique /first,/last --all-versions 604800 --store ./data`

/** `tidemark create`: a new collection. */
export function createCommand(context: CommandContext): Command {
  const command = new Command('create')
    .summary('create a collection')
    .description('Creates a collection, and its database if it does not exist.')
    .argument('<collection>', 'database/collection', collectionName)
    .requiredOption(
      '--partition-key <paths>',
      '/property, or up to three with commas: hierarchical',
      propertyPaths,
    )
    .option('--partition-count <n>', 'pkranges at the start (default: 1)', wholeNumber(1))
    .option('--ttl <ttl>', 'default time to live: seconds, -1 or off (default)', defaultTtl)
    .option(
      '--unique <paths>',
      'a unique key: values that differ within a partition key value; repeat it',
      uniqueKeys,
    )
    .option('--all-versions <seconds>', 'keep a log of all versions, that long', wholeNumber(1))
  return withStoreOptions(command, 'print the collection as one JSON line')
    .addHelpText('after', HELP)
    .action(async ({ database, collection: id }: CollectionName, options: CreateOptions) => {
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      const { partitionKey, partitionCount, ttl, unique, allVersions: seconds } = options
      const allVersions = seconds === undefined ? undefined : { retentionSeconds: seconds }
      const created = await createCollection(store, {
        database,
        options: {
          id,
          partitionKey,
          partitionCount,
          defaultTtl: ttl,
          uniqueKeys: unique,
          allVersions,
        },
      })
      const shown = await shownCollection(created)
      if (options.json === true) await writeJsonLine(context.output, shown)
      else await writeText(context.output, collectionTable([shown]))
    })
}

/** The options are checked before a missing database is created. */
async function createCollection(
  store: Store,
  { database, options }: { readonly database: string; readonly options: CollectionOptions },
): Promise<Collection> {
  try {
    return await store.database(database).createCollection(options)
  } catch (error) {
    if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
  }
  await store.createDatabaseIfNotExists(database)
  return store.database(database).createCollection(options)
}

function uniqueKeys(
  text: string,
  before: readonly (readonly string[])[] = [],
): readonly (readonly string[])[] {
  return [...before, propertyPaths(text)]
}
