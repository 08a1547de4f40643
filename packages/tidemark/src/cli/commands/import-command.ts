import { Command, Option } from 'commander'
import { InvalidOptionError } from '@tidemark/contracts'
import type { Collection, Store } from '@tidemark/store'
import {
  collectionName,
  propertyPaths,
  wholeNumber,
  type CollectionName,
} from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { existingCollection } from '../existing-collection.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { readItems } from '../import/document-input.ts'
import { importItems, importTarget, type ImportMode } from '../import/import-items.ts'
import { Interruption } from '../interruption.ts'
import { writeJsonLine } from '../output/json-lines.ts'
import { grouped } from '../output/progress-line.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { openStore } from '../../open-store.ts'

interface ImportOptions {
  readonly store: string
  readonly collection: CollectionName
  readonly partitionKey?: readonly string[]
  readonly partitionCount?: number
  readonly mode: ImportMode
  readonly json?: boolean
}

const HELP = `
The first character decides: an array begins with "[", everything else is JSON
Lines. Items that cannot be imported are reported with their line on the error
output, and the exit code is 1. All other items are imported. The input can be
larger than memory.

Examples:
  tidemark import orders.jsonl --store ./data --collection shop/orders \\
    --partition-key /customerId
  curl -s https://example.org/all.json | tidemark import - --store ./data \\
    --collection shop/orders`

/** `tidemark import`: JSON into a collection. */
export function importCommand(context: CommandContext, finish: Finish): Command {
  return new Command('import')
    .summary('import JSON Lines or a JSON array into a collection')
    .description('Imports documents from JSON Lines or one JSON array.')
    .argument('<file>', 'the file, or - for the standard input')
    .requiredOption('--store <store>', 'folder or postgres:// URL; created if it is missing')
    .requiredOption('--collection <name>', 'database/collection', collectionName)
    .option(
      '--partition-key <paths>',
      'creates the collection if it is missing: /property, or up to three with commas',
      propertyPaths,
    )
    .option('--partition-count <n>', 'pkranges of a new collection', wholeNumber(1))
    .addOption(
      new Option(
        '--mode <mode>',
        'what happens to a document that exists: it is replaced, or an error',
      )
        .choices(['upsert', 'create'])
        .default('upsert'),
    )
    .addOption(new Option('--upsert', 'the same as --mode upsert').implies({ mode: 'upsert' }))
    .addOption(
      new Option('--create', 'the same as --mode create')
        .implies({ mode: 'create' })
        .conflicts('upsert'),
    )
    .option('--json', 'print the result as JSON lines')
    .addHelpText('after', HELP)
    .action(async (file: string, options: ImportOptions) => {
      finish(await runImport(file, options, context))
    })
}

async function runImport(
  file: string,
  options: ImportOptions,
  context: CommandContext,
): Promise<ExitCode> {
  using interruption = new Interruption()
  await using store = await (options.partitionKey === undefined
    ? openExistingStore(options.store)
    : openStore(options.store))
  const collection = await importedCollection(store, options)
  const database = store.database(options.collection.database)
  const target = importTarget(database, collection, options.mode)
  const counts = await importItems(readItems(file, context, interruption.signal), target, {
    form: options.json === true ? 'json' : 'text',
    context,
    signal: interruption.signal,
  })
  if (options.json === true) await writeJsonLine(context.output, { event: 'imported', ...counts })
  else context.output.write(`imported ${grouped(counts.imported)} documents, ${counts.bad} bad\n`)
  return interruption.exitCode ?? (counts.bad === 0 ? EXIT.ok : EXIT.failure)
}

async function importedCollection(
  store: Store,
  { collection: name, partitionKey, partitionCount }: ImportOptions,
): Promise<Collection> {
  if (partitionKey === undefined) {
    if (partitionCount !== undefined) {
      throw new InvalidOptionError('--partition-count needs --partition-key')
    }
    return existingCollection(store, name)
  }
  return store
    .database(name.database)
    .createCollectionIfNotExists({ id: name.collection, partitionKey, partitionCount })
}
