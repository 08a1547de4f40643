import { Command } from 'commander'
import type { Store } from '@tidemark/store'
import { placeName, type PlaceName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { isConfirmed } from '../confirm.ts'
import { existingCollection } from '../existing-collection.ts'
import { EXIT } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { grouped } from '../output/progress-line.ts'
import { withStoreOptions, type StoreOptions } from '../store-options.ts'

interface DropOptions extends StoreOptions {
  readonly yes?: boolean
}

const HELP = `
Nothing of it can be brought back, except from a backup. Programs that work with
it get ERR_NOT_FOUND from then on, also after another one gets its name.

Examples:
  tidemark drop shop/orders --store ./data
  tidemark drop shop --store ./data --yes`

/** `tidemark drop`: deletes a collection, or a database with all that is in it. */
export function dropCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('drop')
    .summary('delete a collection or a database')
    .description('Deletes a collection with its documents, or a database with all that is in it.')
    .argument('<place>', 'database/collection, or database', placeName)
    .option('--yes', 'without asking')
  return withStoreOptions(command, 'print the result as one JSON line')
    .addHelpText('after', HELP)
    .action(async (place: PlaceName, options: DropOptions, action: Command) => {
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      const what = await describe(store, place)
      const { yes, json } = options
      if (!(await isConfirmed(`this deletes ${what}`, { yes, context, action }))) {
        return finish(EXIT.failure)
      }
      const { database, collection } = place
      if (collection === undefined) await store.deleteDatabase(database)
      else await store.database(database).deleteCollection(collection)
      const deleted = collection === undefined ? database : `${database}/${collection}`
      if (json === true) await writeJsonLine(context.output, { deleted })
      else await writeText(context.output, `deleted: ${deleted}\n`)
    })
}

/** What the user is asked about. Rejects with ERR_NOT_FOUND. */
async function describe(store: Store, { database, collection }: PlaceName): Promise<string> {
  if (collection !== undefined) {
    const found = await existingCollection(store, { database, collection })
    const documents = grouped(await found.count())
    return `the collection ${database}/${collection} with all of its documents (${documents})`
  }
  const collections = (await store.database(database).listCollections()).map(({ id }) => id)
  const names = collections.length === 0 ? 'none' : collections.join(', ')
  return `the database ${database} with its collections (${names}), queues and topics`
}
