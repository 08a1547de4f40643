import { Command, InvalidArgumentError, Option } from 'commander'
import type { Change, Continuation, FeedMode } from '@tidemark/contracts'
import type { StartPosition } from '@tidemark/contracts'
import { collectionName, wholeNumber, type CollectionName } from '../arguments/parse-arguments.ts'
import { startPosition } from '../arguments/parse-start.ts'
import type { CommandContext } from '../command-context.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { Interruption } from '../interruption.ts'
import { writeJsonLine } from '../output/json-lines.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { existingCollection } from '../existing-collection.ts'

interface TailOptions {
  readonly store: string
  readonly from: StartPosition
  readonly follow: boolean
  readonly maxItemCount?: number
  readonly documents?: boolean
  readonly mode: FeedMode
}

const HELP = `
Each line is one change: {"kind","id","partitionKey","lsn","document"}. Expired
documents have the kind "pendingDelete" and their "lastVersion". With --mode
all-versions, each line is one create, replace or delete, of a collection that
keeps the log of all versions. When the command ends, by SIGINT or because it
caught up with --no-follow, the last line of the error output is the
continuation. Give it to --from to continue right there.

Examples:
  tidemark tail shop/orders --store ./data
  tidemark tail shop/orders --store ./data --from beginning \\
    --no-follow > all.jsonl
  tidemark tail shop/orders --store ./data --from 2026-01-31T09:00:00Z \\
    | jq .document.total`

/** `tidemark tail`: prints changes as they happen. */
export function tailCommand(context: CommandContext, finish: Finish): Command {
  return new Command('tail')
    .summary('print the changes of a collection as they happen')
    .description('Prints the changes of a collection as JSON lines, and waits for more.')
    .argument('<collection>', 'database/collection', collectionName)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .addOption(
      new Option('--from <position>', 'beginning, now, a time (ISO 8601) or a continuation')
        .default('now')
        .argParser(startPosition),
    )
    .option('--no-follow', 'end when caught up instead of waiting')
    .addOption(
      new Option(
        '--mode <mode>',
        'latest-version, or all-versions with intermediate versions and deletes',
      )
        .default('latestVersion', 'latest-version')
        .argParser(feedMode),
    )
    .option('--documents', 'print only the documents themselves')
    .option('--max-item-count <n>', 'changes read at a time', wholeNumber(1))
    .addHelpText('after', HELP)
    .action(async (name: CollectionName, options: TailOptions) => {
      finish(await tail(name, options, context))
    })
}

async function tail(
  name: CollectionName,
  options: TailOptions,
  context: CommandContext,
): Promise<ExitCode> {
  using interruption = new Interruption()
  await using store = await openExistingStore(options.store)
  const collection = await existingCollection(store, name)
  let continuation: Continuation | undefined
  try {
    const pages = collection.changes({
      from: options.from,
      follow: options.follow,
      maxItemCount: options.maxItemCount,
      mode: options.mode,
      signal: interruption.signal,
    })
    for await (const page of pages) {
      for (const change of page.changes) {
        const line = options.documents === true ? documentOf(change) : change
        // The reader is gone: the continuation does not cover what it did not take.
        if (!(await writeJsonLine(context.output, line))) return EXIT.ok
      }
      continuation = page.continuation
    }
  } catch (error) {
    if (interruption.exitCode === undefined) throw error
  } finally {
    if (continuation !== undefined) context.errors.write(`${continuation}\n`)
  }
  return interruption.exitCode ?? EXIT.ok
}

function documentOf(change: Change): unknown {
  switch (change.kind) {
    case 'document':
      return change.document
    case 'pendingDelete':
      return change.lastVersion
    case 'version':
      return change.current ?? change.previous
  }
}

/** Parses what `--mode` takes. */
function feedMode(text: string): FeedMode {
  if (text === 'latest-version') return 'latestVersion'
  if (text === 'all-versions') return 'allVersions'
  throw new InvalidArgumentError('It must be latest-version or all-versions.')
}
