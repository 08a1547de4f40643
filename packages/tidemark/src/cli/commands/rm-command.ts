import { Command } from 'commander'
import type { CollectionName } from '../arguments/parse-arguments.ts'
import { VALUE_HELP } from '../arguments/parse-value.ts'
import type { CommandContext } from '../command-context.ts'
import {
  ADDRESS_HELP,
  withDocument,
  withDocumentAddress,
  type AddressOptions,
} from '../document-address.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { withStoreOptions } from '../store-options.ts'

interface RemoveOptions extends AddressOptions {
  readonly ifMatch?: string
}

const HELP = `
It does not ask: "tidemark get" shows the document first. Only a collection that
keeps the log of all versions tells its readers of the delete.
${ADDRESS_HELP}${VALUE_HELP}
Examples:
  tidemark rm shop/orders o1 --store ./data
  tidemark rm shop/orders o1 --partition-key c7 --store ./data`

/** `tidemark rm`: deletes one document. */
export function removeCommand(context: CommandContext): Command {
  const command = withDocumentAddress(new Command('rm'))
    .summary('delete a document')
    .description('Deletes a document.')
    .option('--if-match <etag>', 'only while its _etag is this one')
  return withStoreOptions(command, 'print the result as one JSON line')
    .addHelpText('after', HELP)
    .action(async (name: CollectionName, id: string, options: RemoveOptions) => {
      const { lsn } = await withDocument(name, { id, options }, ({ collection, partitionKey }) =>
        collection.delete(id, partitionKey, { ifMatch: options.ifMatch }),
      )
      if (options.json === true) await writeJsonLine(context.output, { deleted: id, _lsn: lsn })
      else await writeText(context.output, `deleted: ${id}\n`)
    })
}
