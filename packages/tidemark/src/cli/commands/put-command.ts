import { Command, Option } from 'commander'
import type { Collection } from '@tidemark/store'
import { collectionName, type CollectionName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { existingCollection } from '../existing-collection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { parsedItems, readItems } from '../import/document-input.ts'
import { importItems, importTarget } from '../import/import-items.ts'
import type { ParsedItem } from '../import/parse-items.ts'
import { InputError } from '../input-error.ts'
import { Interruption } from '../interruption.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { grouped } from '../output/progress-line.ts'
import { withStoreOptions, type StoreOptions } from '../store-options.ts'

interface PutOptions extends StoreOptions {
  readonly createOnly?: boolean
  readonly ifMatch?: string
}

interface Run {
  readonly options: PutOptions
  readonly context: CommandContext
}

const HELP = `
What begins with { or [ is the document itself, or a list of documents; else it
is a file of JSON Lines or of one JSON array, as for "tidemark import". System
properties such as _etag are ignored. Of several documents, those that cannot be
written are reported with their line, and the exit code is 1; the others are
written.

Examples:
  tidemark put shop/orders '{"id":"o1","customerId":"c7","total":12}' \\
    --store ./data
  tidemark get shop/orders o1 --store ./data | jq '.total = 13' \\
    | tidemark put shop/orders --store ./data
  tidemark put shop/orders changed.json --if-match "$ETAG" --store ./data`

/** `tidemark put`: writes documents. */
export function putCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('put')
    .summary('write documents')
    .description('Writes a document, or several; one that exists is replaced.')
    .argument('<collection>', 'database/collection', collectionName)
    .argument('[documents]', 'a file, - for the standard input, or the JSON itself', '-')
    .addOption(new Option('--create-only', 'refuse a document that exists').conflicts('ifMatch'))
    .option('--if-match <etag>', 'of one document: only while its _etag is this one')
  return withStoreOptions(command, 'print one JSON line: the written document, or the counts')
    .addHelpText('after', HELP)
    .action(async (name: CollectionName, given: string, options: PutOptions) => {
      finish(await put(name, given, { options, context }))
    })
}

async function put(
  name: CollectionName,
  given: string,
  { options, context }: Run,
): Promise<ExitCode> {
  using interruption = new Interruption()
  const { signal } = interruption
  await using store = await openExistingStore(options.store, { maintenance: 'manual' })
  const collection = await existingCollection(store, name)
  const items = /^\s*[{[]/.test(given) ? parsedItems([given]) : readItems(given, context, signal)
  try {
    const [first, second] = [await nextOf(items), await nextOf(items)]
    if (first === undefined) throw new InputError('there is no document in the input')
    if (second === undefined) {
      await putOne(first, collection, { options, context })
      return EXIT.ok
    }
    if (options.ifMatch !== undefined) {
      throw new InputError('--if-match is for one document, and the input has several')
    }
    const mode = options.createOnly === true ? 'create' : 'upsert'
    const target = importTarget(store.database(name.database), collection, mode)
    const form = options.json === true ? 'json' : 'text'
    const all = followedBy([first, second], items)
    const { imported, bad } = await importItems(all, target, { form, context, signal })
    if (form === 'json') await writeJsonLine(context.output, { documents: imported, bad })
    else await writeText(context.output, `put ${grouped(imported)} documents, ${bad} bad\n`)
    return interruption.exitCode ?? (bad === 0 ? EXIT.ok : EXIT.failure)
  } catch (error) {
    if (interruption.exitCode === undefined) throw error
    return interruption.exitCode
  } finally {
    await items.return()
  }
}

/** Unlike one of several, it is refused with its error. */
async function putOne(
  item: ParsedItem,
  collection: Collection,
  { options: { createOnly, ifMatch, json }, context: { output } }: Run,
): Promise<void> {
  if (item.kind === 'bad') throw new InputError(`line ${item.line}: ${item.reason}`)
  const { document, created } = await (createOnly === true
    ? collection.create(item.document)
    : collection.upsert(item.document, { ifMatch }))
  if (json === true) await writeJsonLine(output, document)
  else await writeText(output, `${created ? 'created' : 'replaced'}: ${document.id}\n`)
}

async function nextOf(items: AsyncGenerator<ParsedItem>): Promise<ParsedItem | undefined> {
  const result = await items.next()
  return result.done === true ? undefined : result.value
}

async function* followedBy(
  first: readonly ParsedItem[],
  rest: AsyncIterable<ParsedItem>,
): AsyncGenerator<ParsedItem> {
  yield* first
  yield* rest
}
