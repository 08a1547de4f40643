import { Command, InvalidArgumentError } from 'commander'
import type { AllVersionsPolicy } from '@tidemark/store'
import { collectionName, wholeNumber, type CollectionName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { existingCollection } from '../existing-collection.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'

interface VersionsOptions {
  readonly store: string
  readonly json?: boolean
  readonly previousImages?: boolean
}

const HELP = `
The log holds every create, replace and delete from the moment when you turn it
on, each for at least the retention. "tidemark migrate --apply-deletes" and
"tidemark tail --mode all-versions" read it. If you turn it off, it is deleted.

Examples:
  tidemark versions shop/orders --store ./data
  tidemark versions set shop/orders 604800 --store ./data
  tidemark versions set shop/orders off --store ./data`

/** `tidemark versions`: the log of all versions and deletes of a collection. */
export function versionsCommand(context: CommandContext): Command {
  return new Command('versions')
    .summary('show, turn on and turn off the log of all versions and deletes')
    .description(
      'Shows whether a collection keeps a log of all versions and deletes; turns it on and off.',
    )
    .addCommand(showCommand(context), { isDefault: true })
    .addCommand(setCommand(context))
    .addHelpText('after', HELP)
}

function showCommand(context: CommandContext): Command {
  return new Command('show')
    .summary('show the state of the log (default)')
    .description('Shows whether the log is kept, and for how long.')
    .argument('<collection>', 'database/collection', collectionName)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--json', 'print one JSON line')
    .addHelpText('after', HELP)
    .action(async (name: CollectionName, options: VersionsOptions) => {
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      const { definition } = await (await existingCollection(store, name)).readRecord()
      await tell(definition.allVersions, { options, context })
    })
}

function setCommand(context: CommandContext): Command {
  return new Command('set')
    .summary('turn the log on, or off')
    .description('Turns the log on, sets how long it keeps entries, or turns it off.')
    .argument('<collection>', 'database/collection', collectionName)
    .argument('<retention>', 'seconds that an entry stays at least, or off', retention)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .option('--previous-images', 'entries also carry the previous version')
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', HELP)
    .action(async (name: CollectionName, seconds: number | null, options: VersionsOptions) => {
      await using store = await openExistingStore(options.store, { maintenance: 'manual' })
      const collection = await existingCollection(store, name)
      const { previousImages } = options
      const allVersions = seconds === null ? null : { retentionSeconds: seconds, previousImages }
      const { definition } = await collection.updateSettings({ allVersions })
      await tell(definition.allVersions, { options, context })
    })
}

async function tell(
  log: AllVersionsPolicy | null,
  { options, context }: { readonly options: VersionsOptions; readonly context: CommandContext },
): Promise<void> {
  if (options.json === true) await writeJsonLine(context.output, { allVersions: log })
  else await writeText(context.output, `log of all versions: ${logText(log)}\n`)
}

function logText(log: AllVersionsPolicy | null): string {
  if (log === null) return 'off'
  const images = log.previousImages ? ', with previous images' : ''
  return `on, entries are kept for at least ${log.retentionSeconds} s${images}`
}

/** Parses a retention for commander: seconds or `off`. */
function retention(text: string): number | null {
  if (text === 'off') return null
  try {
    return wholeNumber(1)(text)
  } catch {
    throw new InvalidArgumentError('It must be a number of seconds of at least 1, or off.')
  }
}
