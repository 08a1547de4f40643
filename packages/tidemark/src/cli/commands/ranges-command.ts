import { Command } from 'commander'
import { feedRangeId } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { collectionName, type CollectionName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { existingCollection } from '../existing-collection.ts'
import { openExistingStore } from '../open-existing-store.ts'
import {
  measuredRanges,
  presentRanges,
  type MeasuredRange,
} from '../../inspection/measured-ranges.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { textTable } from '../output/text-table.ts'

interface RangeOptions {
  readonly store: string
  readonly json?: boolean
}

interface SplitOptions extends RangeOptions {
  readonly at?: string
}

const LIST_HELP = `
Columns: the pkrange's id; its lowest key, and the first key above it; the
ranges that it was split or merged from; the number and bytes of its live
documents; the LSN of its newest commit.

Examples:
  tidemark ranges ls shop/orders --store ./data
  tidemark ranges ls shop/orders --store ./data --json \\
    | jq 'select(.bytes > 1e9).id'`

const SPLIT_HELP = `
Writes, reads and processors continue meanwhile, and no document moves. The
command prints the new ranges.

Examples:
  tidemark ranges split shop/orders 0 --store ./data
  tidemark ranges split shop/orders 0 --at 1FFFFFFFFFFFFFFF --store ./data`

const MERGE_HELP = `
The two ranges must be neighbours. Readers that began before the merge keep
their own positions. The command prints the new range.

Examples:
  tidemark ranges merge shop/orders 1 2 --store ./data`

/** `tidemark ranges`: how a collection is divided. */
export function rangesCommand(context: CommandContext): Command {
  return new Command('ranges')
    .summary('list, split and merge the pkranges of a collection')
    .description('Shows how a collection is divided into pkranges, and changes it.')
    .addCommand(listCommand(context))
    .addCommand(splitCommand(context))
    .addCommand(mergeCommand(context))
}

function listCommand(context: CommandContext): Command {
  return new Command('ls')
    .summary('list ranges and their sizes')
    .description('Lists the pkranges of a collection, in the order of their keys.')
    .argument('<collection>', 'database/collection', collectionName)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--json', 'one JSON line a range')
    .addHelpText('after', LIST_HELP)
    .action(async (name: CollectionName, options: RangeOptions) => {
      await withCollection(name, options, async (collection) => {
        await writeRanges(context, options, await presentRanges(collection))
      })
    })
}

function splitCommand(context: CommandContext): Command {
  return new Command('split')
    .summary('split a range in two')
    .description('Splits a pkrange in the middle of its documents, or at a given key.')
    .argument('<collection>', 'database/collection', collectionName)
    .argument('<range>', 'id of the pkrange, as `ranges ls` has it')
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--at <epk>', 'effective partition key at which the second range begins')
    .option('--json', 'one JSON line a range')
    .addHelpText('after', SPLIT_HELP)
    .action(async (name: CollectionName, range: string, options: SplitOptions) => {
      await withCollection(name, options, async (collection) => {
        const children = await collection.split(range, { at: options.at?.toUpperCase() })
        await writeRanges(context, options, await measuredRanges(collection, children))
      })
    })
}

function mergeCommand(context: CommandContext): Command {
  return new Command('merge')
    .summary('merge two ranges into one')
    .description('Merges two neighbouring pkranges.')
    .argument('<collection>', 'database/collection', collectionName)
    .argument('<range>', 'id of a pkrange')
    .argument('<neighbour>', 'id of the one before or after it')
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--json', 'one JSON line a range')
    .addHelpText('after', MERGE_HELP)
    .action(
      async (name: CollectionName, range: string, neighbour: string, options: RangeOptions) => {
        await withCollection(name, options, async (collection) => {
          const merged = await collection.merge(range, neighbour)
          await writeRanges(context, options, await measuredRanges(collection, [merged]))
        })
      },
    )
}

async function withCollection(
  name: CollectionName,
  { store: folder }: RangeOptions,
  act: (collection: Collection) => Promise<void>,
): Promise<void> {
  await using store = await openExistingStore(folder, { maintenance: 'manual' })
  await act(await existingCollection(store, name))
}

async function writeRanges(
  { output }: CommandContext,
  { json }: RangeOptions,
  lines: readonly MeasuredRange[],
): Promise<void> {
  if (json === true) {
    for (const line of lines) {
      await writeJsonLine(output, { ...line, range: feedRangeId(line) })
    }
    return
  }
  const headings = ['ID', 'FROM', 'TO', 'PARENTS', 'DOCUMENTS', 'BYTES', 'NEWEST LSN']
  const rows = lines.map((line) => [
    Number(line.id),
    line.minInclusive || '0',
    line.maxExclusive,
    line.parents.join(',') || '-',
    line.documents,
    line.bytes,
    line.newestLsn,
  ])
  await writeText(output, textTable(headings, rows))
}
