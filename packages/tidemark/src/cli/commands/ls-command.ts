import { Command } from 'commander'
import type { Database, Store } from '@tidemark/store'
import { placeName, wholeNumber, type PlaceName } from '../arguments/parse-arguments.ts'
import { VALUE_HELP } from '../arguments/parse-value.ts'
import type { CommandContext } from '../command-context.ts'
import { partitionKeyFlag } from '../document-address.ts'
import { existingCollection } from '../existing-collection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { openExistingStore } from '../open-existing-store.ts'
import {
  collectionTable,
  shownCollection,
  type ShownCollection,
} from '../output/collection-table.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { errorLine } from '../output/report-error.ts'
import { textTable } from '../output/text-table.ts'
import { withStoreOptions } from '../store-options.ts'
import { listDocuments, type ListOptions } from './list-documents.ts'

const HELP = `
Documents come in the order of their hashed keys, as they are read: a collection
can be larger than memory. If --limit leaves some out, the last line of the
error output says so and has the continuation for --after. "tidemark tail
--from beginning --no-follow --documents" prints the documents themselves.
${VALUE_HELP}
Examples:
  tidemark ls --store ./data
  tidemark ls shop --store ./data
  tidemark ls shop/orders --limit 20 --store ./data
  tidemark ls shop/orders --partition-key c7 --store ./data --json | jq -r .id`

/** `tidemark ls`: databases, collections of one, documents of one. */
export function listCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('ls')
    .summary('list databases, collections or documents')
    .description('Lists the databases, the collections of one, or the documents of a collection.')
    .argument('[place]', 'database or database/collection (default: all databases)', placeName)
    .addOption(
      partitionKeyFlag('only its documents; of a hierarchical one also the first of its parts'),
    )
    .option('--limit <n>', 'at most as many documents (default: all)', wholeNumber(1))
    .option('--after <continuation>', 'continue after documents that were listed')
  return withStoreOptions(command, 'one JSON line each')
    .addHelpText('after', HELP)
    .action(async (place: PlaceName | undefined, options: ListOptions, action: Command) => {
      const { partitionKey, limit, after } = options
      if (place?.collection === undefined && (partitionKey ?? limit ?? after) !== undefined) {
        action.error(
          'error: --partition-key, --limit and --after are for documents: name database/collection\n',
        )
      }
      finish(await list(place, options, context))
    })
}

async function list(
  place: PlaceName | undefined,
  options: ListOptions,
  context: CommandContext,
): Promise<ExitCode> {
  await using store = await openExistingStore(options.store, { maintenance: 'manual' })
  if (place === undefined) return await listDatabases(store, options, context)
  const { database, collection } = place
  if (collection === undefined) {
    return await listCollections(store.database(database), options, context)
  }
  const found = await existingCollection(store, { database, collection })
  return await listDocuments(found, options, context)
}

/** A database that cannot be read is named with its error. */
async function listDatabases(
  store: Store,
  { json }: ListOptions,
  { output, errors }: CommandContext,
): Promise<ExitCode> {
  const rows: (readonly [string, number | '-'])[] = []
  let exitCode: ExitCode = EXIT.ok
  const ids = (await store.listDatabases()).map(({ id }) => id)
  for (const id of ids.toSorted()) {
    try {
      rows.push([id, (await store.database(id).listCollections()).length])
    } catch (error) {
      rows.push([id, '-'])
      errors.write(`${errorLine(error)}\n`)
      exitCode = EXIT.failure
    }
  }
  if (json === true) {
    for (const [database, collections] of rows) {
      await writeJsonLine(output, { database, ...(collections !== '-' && { collections }) })
    }
    return exitCode
  }
  const text = rows.length === 0 ? 'no databases\n' : textTable(['DATABASE', 'COLLECTIONS'], rows)
  await writeText(output, text)
  return exitCode
}

async function listCollections(
  database: Database,
  { json }: ListOptions,
  { output }: CommandContext,
): Promise<ExitCode> {
  const shown: ShownCollection[] = []
  const ids = (await database.listCollections()).map(({ id }) => id)
  for (const id of ids.toSorted()) {
    const one = await shownCollection(database.collection(id))
    if (json === true) await writeJsonLine(output, one)
    else shown.push(one)
  }
  if (json === true) return EXIT.ok
  await writeText(output, shown.length === 0 ? 'no collections\n' : collectionTable(shown))
  return EXIT.ok
}
