import { Command, Option } from 'commander'
import { InvalidOptionError, type StartPosition } from '@tidemark/contracts'
import type { MoveOptions, MovedLease, ProcessorGroup } from '@tidemark/processor'
import { startPosition } from '../arguments/parse-start.ts'
import type { CommandContext } from '../command-context.ts'
import { confirm } from '../confirm.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import {
  withGroup,
  withGroupOptions,
  type FoundGroup,
  type GroupOptions,
} from '../group-location.ts'
import { Interruption } from '../interruption.ts'
import { skipped } from '../../inspection/moved-lsns.ts'
import { writeMoves } from '../output/moved-leases.ts'
import { chosenRanges, namedRanges, type NamedRange } from '../range-choice.ts'

/** Options that all commands that move a group share. */
export interface MoveCommandOptions extends GroupOptions {
  readonly yes?: boolean
  readonly dryRun?: boolean
  readonly atOnce?: boolean
  readonly json?: boolean
}

interface SeekCommandOptions extends MoveCommandOptions {
  readonly to: StartPosition
  readonly range?: readonly NamedRange[]
}

const SEEK_HELP = `
Positions: beginning; now; a time such as 2026-01-31T09:00:00Z; a continuation,
as "tail" prints it. The changes in between are delivered again, in order, or
skipped. You must confirm a skip. Hosts can keep running: the command pauses the
group meanwhile, so that calls in progress end first. With --at-once, it takes
the leases from the hosts instead and refuses their later checkpoints. A group
whose collection was dropped and created again, or whose leases were all
deleted, begins at the position in the present collection.

Examples:
  tidemark leases reset --group mirror --store ./data
  tidemark leases seek --group mirror --store ./data --to 2026-01-31T09:00:00Z \\
    --dry-run
  tidemark leases seek --group mirror --store ./data --to now --range 3 --yes`

/** `tidemark leases seek`. */
export function seekCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('seek')
    .summary('move a group, or some of its ranges, to another position')
    .description('Moves a processor group, or some of its ranges, to another position.')
  return withMoveOptions(withRangeOption(withGroupOptions(command)))
    .addOption(
      new Option('--to <position>', 'beginning, now, a time (ISO 8601) or a continuation')
        .argParser(startPosition)
        .makeOptionMandatory(),
    )
    .addHelpText('after', SEEK_HELP)
    .action(async (options: SeekCommandOptions, action: Command) => {
      finish(await seek(options, { context, action }))
    })
}

/** `tidemark leases reset`: seek to the beginning. */
export function resetCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('reset')
    .summary('move a group back to the beginning')
    .description(
      'Moves a processor group, or some of its ranges, to the beginning: all changes come again.',
    )
  return withMoveOptions(withRangeOption(withGroupOptions(command)))
    .addHelpText('after', SEEK_HELP)
    .action(async (options: Omit<SeekCommandOptions, 'to'>, action: Command) => {
      finish(await seek({ ...options, to: 'beginning' }, { context, action }))
    })
}

/** Adds `--yes`, `--dry-run`, `--at-once` and `--json`. */
export function withMoveOptions(command: Command): Command {
  return command
    .option('--yes', 'skip changes without asking')
    .option('--dry-run', 'show what the command would do, and do nothing')
    .option('--at-once', 'do not wait for the calls in progress of the hosts')
    .option('--json', 'one JSON line for each lease')
}

/** Shows the plan, asks if it would skip changes, carries it out and reports the result. */
export async function move(
  options: MoveCommandOptions,
  {
    context,
    action,
    preview,
    run,
  }: {
    readonly context: CommandContext
    readonly action: Command
    readonly preview: () => Promise<readonly MovedLease[]>
    readonly run: (how: MoveOptions) => Promise<readonly MovedLease[]>
  },
): Promise<ExitCode> {
  const planned = await preview()
  if (options.dryRun === true) {
    await writeMoves(context, planned, options)
    return EXIT.ok
  }
  const count = skipped(planned)
  if (count > 0 && options.yes !== true) {
    const what = `this skips up to ${count} transactions of group ${options.group}`
    const answer = await confirm(context, `${what}. Continue?`)
    if (answer === undefined)
      action.error(`error: ${what}; preview with --dry-run, confirm with --yes\n`)
    if (answer !== true) return EXIT.failure
  }
  using interruption = new Interruption()
  const { signal } = interruption
  try {
    const drain = options.atOnce === true ? { drainTimeoutMs: 0 } : {}
    await writeMoves(context, await run({ ...drain, signal }), options)
  } catch (error) {
    if (interruption.exitCode === undefined) throw error
  }
  return interruption.exitCode ?? EXIT.ok
}

function withRangeOption(command: Command): Command {
  return command.option(
    '--range <id>',
    'only this range: min-max as "leases ls --json" prints it, or a pkrange; repeatable',
    namedRanges,
  )
}

function seek(
  options: SeekCommandOptions,
  { context, action }: { readonly context: CommandContext; readonly action: Command },
): Promise<ExitCode> {
  return withGroup(options, async (found) => {
    const { group } = found
    const ranges = await chosenRanges(found, options.range)
    const request = { to: options.to, ranges, ofOtherFeed: 'move' } as const
    return move(options, {
      context,
      action,
      preview: () => needingFeed(found, (known) => known.previewSeek(request)),
      run: (how) => group.seek(request, how),
    })
  })
}

/** @throws ERR_INVALID_OPTION when the collection that the group follows is not in the given store */
export function needingFeed<Result>(
  { group, store, follows, followed }: FoundGroup,
  act: (group: ProcessorGroup) => Result,
): Result {
  if (followed !== undefined) return act(group)
  const shown = JSON.stringify(group.group)
  if (store === undefined) {
    throw new InvalidOptionError(
      `give with --store the store that has the collection of group ${shown}`,
    )
  }
  const { feed } = follows
  const name = feed === undefined ? 'a collection' : `${feed.name} (${feed.rid})`
  throw new InvalidOptionError(
    `group ${shown} follows ${name} that is not in the given store: give with --store the one that has it; if it was ` +
      'dropped, start hosts on another one with a new token in hostOptions.discardExistingLeases',
  )
}
