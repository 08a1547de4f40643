import { Command } from 'commander'
import type { MaintenanceReport } from '@tidemark/store'
import { defaultTtl } from '../arguments/parse-ttl.ts'
import { collectionName, type CollectionName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { existingCollection } from '../existing-collection.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { ttlText } from '../output/ttl-text.ts'
import { readTtl } from '../../inspection/read-ttl.ts'

interface TtlOptions {
  readonly store: string
  readonly json?: boolean
}

const SHOW_HELP = `
"unswept" documents have expired and are invisible, but are not pending deletes
yet. "pending deletes" keep the last version until they are purged: after the
retention, and after every waiting group has passed them. The horizon of a range
is the highest LSN up to which something was purged; a reader of pending deletes
that is below it has missed some.

Examples:
  tidemark ttl shop/sessions --store ./data
  tidemark ttl shop/sessions --store ./data --json | jq .expiring`

const SET_HELP = `
The change takes effect at once, also for existing documents. Expired documents
stay expired.
  -1   documents expire only if they have their own ttl
  off  nothing expires

Examples:
  tidemark ttl set shop/sessions 3600 --store ./data
  tidemark ttl set shop/sessions off --store ./data`

const SWEEP_HELP = `
Processes that have the store open do this automatically, one of them at a time.
The command leaves out work that one of them is doing right now, and names it.

Examples:
  tidemark ttl sweep --store ./data`

/** `tidemark ttl`: what expires when, and what has. */
export function ttlCommand(context: CommandContext): Command {
  return new Command('ttl')
    .summary('show and set time to live, sweep expired documents')
    .description('Shows when documents of a collection expire, and sets its time to live.')
    .addCommand(showCommand(context), { isDefault: true })
    .addCommand(setCommand(context))
    .addCommand(sweepCommand(context))
    .addHelpText('after', SHOW_HELP)
}

function showCommand(context: CommandContext): Command {
  return new Command('show')
    .summary('show what expires when (also without "show")')
    .description('Shows what expires when, and what has expired.')
    .argument('<collection>', 'database/collection', collectionName)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--json', 'print one JSON line')
    .addHelpText('after', SHOW_HELP)
    .action(async (name: CollectionName, options: TtlOptions) => {
      // This command only reads: due work is shown, not done.
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      const shown = await readTtl(await existingCollection(store, name))
      if (options.json === true) await writeJsonLine(context.output, shown)
      else await writeText(context.output, ttlText(shown))
    })
}

function setCommand(context: CommandContext): Command {
  return new Command('set')
    .summary('set the default time to live')
    .description('Sets the default time to live of a collection.')
    .argument('<collection>', 'database/collection', collectionName)
    .argument('<ttl>', 'seconds, -1 or off', defaultTtl)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', SET_HELP)
    .action(async (name: CollectionName, ttl: number | null, options: TtlOptions) => {
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      const collection = await existingCollection(store, name)
      const { definition } = await collection.updateSettings({ defaultTtl: ttl })
      const { defaultTtl: now } = definition
      if (options.json === true) await writeJsonLine(context.output, { defaultTtl: now })
      else await writeText(context.output, `default ttl: ${now === null ? 'off' : now}\n`)
    })
}

function sweepCommand(context: CommandContext): Command {
  return new Command('sweep')
    .summary('do all background work that is due now')
    .description('Sweeps what has expired, purges, trims, folds: all background work due now.')
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', SWEEP_HELP)
    .action(async (options: TtlOptions) => {
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      const report = await store.runMaintenance()
      if (options.json === true) await writeJsonLine(context.output, report)
      else await writeText(context.output, sweepText(report))
    })
}

function sweepText(report: MaintenanceReport): string {
  const { swept, purged, versionsTrimmed, folded, expiryReindexed, rangesSplit } = report
  const done =
    `swept ${swept}, purged ${purged}, trimmed ${versionsTrimmed} versions, folded ${folded} rows, ` +
    `refiled ${expiryReindexed}, split ${rangesSplit} ranges\n`
  const held = report.heldElsewhere.map(
    ({ databaseId, holder }) => `${databaseId}: ${holder} is doing it\n`,
  )
  return [done, ...held].join('')
}
