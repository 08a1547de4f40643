import { Argument, Command } from 'commander'
import type { PatchOperation } from '@tidemark/contracts'
import type { CollectionName } from '../arguments/parse-arguments.ts'
import { patchStep, VALUE_HELP } from '../arguments/parse-value.ts'
import type { CommandContext } from '../command-context.ts'
import {
  ADDRESS_HELP,
  withDocument,
  withDocumentAddress,
  type AddressOptions,
} from '../document-address.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { withStoreOptions } from '../store-options.ts'

interface SetOptions extends AddressOptions {
  readonly remove?: readonly string[]
  readonly ifMatch?: string
}

const HELP = `
A path is /property, /outer/inner or /list/0; /list/- appends to a list. The
steps are a patch: all of them happen, or none. There are at most ten, those of
--remove are the last, and none changes the id or the partition key.
${VALUE_HELP}${ADDRESS_HELP}
Examples:
  tidemark set shop/orders o1 /state=paid /address/zip='"01067"' --store ./data
  tidemark set shop/orders o1 /total+=2.5 --remove /note --store ./data
  tidemark set shop/sessions s1 /ttl=3600 --store ./data`

/** `tidemark set`: changes properties of one document. */
export function setCommand(context: CommandContext): Command {
  const steps = new Argument('[steps...]', '/path=value, or /path+=number to add')
  const command = withDocumentAddress(new Command('set'))
    .addArgument(steps.argParser(patchStep))
    .summary('change properties of a document')
    .description('Changes properties of a document.')
    .option('--remove <path>', 'removes a property; repeat it for more', listed)
    .option('--if-match <etag>', 'only while its _etag is this one')
  return withStoreOptions(command, 'print the changed document on one line')
    .addHelpText('after', HELP)
    .action(
      async (
        name: CollectionName,
        id: string,
        given: readonly PatchOperation[] | undefined,
        options: SetOptions,
        action: Command,
      ) => {
        const removals = (options.remove ?? []).map((path) => ({ op: 'remove', path }) as const)
        const steps = [...(given ?? []), ...removals]
        if (steps.length === 0) action.error('error: give a /path=value, or --remove\n')
        const { document } = await withDocument(name, { id, options }, (found) =>
          found.collection.patch(id, found.partitionKey, steps, { ifMatch: options.ifMatch }),
        )
        if (options.json === true) await writeJsonLine(context.output, document)
        else await writeText(context.output, `changed: ${id}\n`)
      },
    )
}

function listed(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}
