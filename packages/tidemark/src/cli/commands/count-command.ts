import { Command } from 'commander'
import type { Collection } from '@tidemark/store'
import { collectionName, type CollectionName } from '../arguments/parse-arguments.ts'
import { VALUE_HELP } from '../arguments/parse-value.ts'
import type { CommandContext } from '../command-context.ts'
import { partitionKeyFlag, type AddressOptions } from '../document-address.ts'
import { existingCollection } from '../existing-collection.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { withStoreOptions } from '../store-options.ts'

const HELP = `
Expired documents do not count.
${VALUE_HELP}
Examples:
  tidemark count shop/orders --store ./data
  tidemark count shop/orders --partition-key c7 --store ./data`

/** `tidemark count`: how many documents there are. */
export function countCommand(context: CommandContext): Command {
  const command = new Command('count')
    .summary('count the documents of a collection')
    .description('Counts the documents of a collection, or of one partition key value.')
    .argument('<collection>', 'database/collection', collectionName)
    .addOption(
      partitionKeyFlag('only this value; of a hierarchical one also the first of its parts'),
    )
  return withStoreOptions(command, 'print one JSON line')
    .addHelpText('after', HELP)
    .action(async (name: CollectionName, options: AddressOptions) => {
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      const documents = await countDocuments(await existingCollection(store, name), options)
      if (options.json === true) await writeJsonLine(context.output, { documents })
      else await writeText(context.output, `${documents}\n`)
    })
}

async function countDocuments(
  collection: Collection,
  { partitionKey }: AddressOptions,
): Promise<number> {
  if (partitionKey === undefined) return collection.count()
  let documents = 0
  let continuation: string | undefined
  do {
    const page = await collection.readDocumentsText({ partitionKey, continuation })
    documents += page.bodies.length
    continuation = page.continuation
  } while (continuation !== undefined)
  return documents
}
