import { Command } from 'commander'
import { ResourceNotFoundError } from '@tidemark/contracts'
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

const HELP = `${ADDRESS_HELP}${VALUE_HELP}
Examples:
  tidemark get shop/orders o1 --store ./data
  tidemark get shop/orders o1 --partition-key c7 --store ./data --json
  tidemark get shop/logins 7 --partition-key acme --partition-key '"7"' \\
    --store ./data | jq .total`

/** `tidemark get`: one document. */
export function getCommand(context: CommandContext): Command {
  const command = withDocumentAddress(new Command('get'))
    .summary('print a document')
    .description('Prints a document as JSON, with its system properties such as _etag.')
  return withStoreOptions(command, 'on one line')
    .addHelpText('after', HELP)
    .action(async (name: CollectionName, id: string, options: AddressOptions) => {
      const document = await withDocument(name, { id, options }, async (found) => {
        return (await found.collection.read(id, found.partitionKey)).document
      })
      if (document === undefined) throw new ResourceNotFoundError('document', id)
      if (options.json === true) await writeJsonLine(context.output, document)
      else await writeText(context.output, `${JSON.stringify(document, undefined, 2)}\n`)
    })
}
