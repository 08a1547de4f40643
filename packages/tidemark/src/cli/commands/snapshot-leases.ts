import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { Command } from 'commander'
import { InvalidOptionError } from '@tidemark/contracts'
import type { PositionsSnapshot } from '@tidemark/processor'
import type { CommandContext } from '../command-context.ts'
import type { Finish } from '../finish.ts'
import { withGroup, withGroupOptions, type GroupOptions } from '../group-location.ts'
import { InputError } from '../input-error.ts'
import { writeText } from '../output/json-lines.ts'
import { move, needingFeed, withMoveOptions, type MoveCommandOptions } from './seek-leases.ts'

const HELP = `
A snapshot is the position of each range, as JSON. If you pause the group first,
all positions are of one moment. You can restore a group after splits and
merges, and from a snapshot of another group of the same collection. A group
without leases gets them. You must confirm it when changes would be skipped.

Examples:
  tidemark leases snapshot --group mirror --store ./data > mirror.json
  tidemark leases restore mirror.json --group mirror --store ./data --dry-run
  tidemark leases restore mirror.json --group mirror2 --store ./data \\
    --leases redis://localhost`

/** `tidemark leases snapshot`. */
export function snapshotCommand(context: CommandContext): Command {
  const command = new Command('snapshot')
    .summary('print the positions of a group')
    .description('Prints the positions of a processor group, to restore them later.')
  return withGroupOptions(command)
    .addHelpText('after', HELP)
    .action(async (options: GroupOptions) => {
      const snapshot = await withGroup(options, ({ group }) => group.snapshot())
      await writeText(context.output, `${JSON.stringify(snapshot, undefined, 2)}\n`)
    })
}

/** `tidemark leases restore`. */
export function restoreCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('restore')
    .summary('move a group to the positions of a snapshot')
    .description('Moves a processor group to the positions of a snapshot.')
    .argument('<file>', 'what "leases snapshot" printed; - = standard input')
  return withMoveOptions(withGroupOptions(command))
    .addHelpText('after', HELP)
    .action(async (file: string, options: MoveCommandOptions, action: Command) => {
      const snapshot = await readSnapshot(file, context)
      const continuations = snapshot.positions.map(({ continuation }) => continuation)
      const code = await withGroup({ ...options, continuations }, async (found) =>
        move(options, {
          context,
          action,
          preview: () => needingFeed(found, (group) => group.previewRestore(snapshot)),
          run: (how) => found.group.restore(snapshot, how),
        }),
      )
      finish(code)
    })
}

/** The group checks the content. */
async function readSnapshot(file: string, { input }: CommandContext): Promise<PositionsSnapshot> {
  let value: unknown
  try {
    value = JSON.parse(file === '-' ? await text(input) : await readFile(file, 'utf8'))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`${file}: ${why}`, { cause })
  }
  if (isSnapshot(value)) return value
  throw new InvalidOptionError(`${file} is not a snapshot of positions`)
}

function isSnapshot(value: unknown): value is PositionsSnapshot {
  if (typeof value !== 'object' || value === null) return false
  const positions: unknown = Reflect.get(value, 'positions')
  return (
    Array.isArray(positions) &&
    positions.every(
      (one: unknown) =>
        typeof one === 'object' &&
        one !== null &&
        typeof Reflect.get(one, 'continuation') === 'string',
    )
  )
}
