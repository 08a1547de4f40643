import { Command } from 'commander'
import { FULL_RANGE, InvalidOptionError, rangesOverlap } from '@tidemark/contracts'
import type { CommandContext } from '../command-context.ts'
import { withGroup, withGroupOptions, type GroupOptions } from '../group-location.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { chosenRanges, namedRanges, type NamedRange } from '../range-choice.ts'

interface ReleaseOptions extends GroupOptions {
  readonly range: readonly NamedRange[]
  readonly json?: boolean
}

const HELP = `
For leases whose observer hangs, or that were halted after failures. Their
positions stay. Checkpoints and fenced writes of the previous host are refused
from now on. The leases are assigned again, with new observers.

Examples:
  tidemark leases release --group mirror --store ./data --range 3
  tidemark leases release --group mirror --store ./data --range all`

/** `tidemark leases release`. */
export function releaseCommand(context: CommandContext): Command {
  const command = new Command('release')
    .summary('take leases from their hosts, and assign them again')
    .description('Takes leases from their hosts, and assigns them again.')
  return withGroupOptions(command)
    .requiredOption(
      '--range <id>',
      'leases of this range: min-max as "leases ls --json" prints it, a pkrange, or all; repeatable',
      releasedRanges,
    )
    .option('--json', 'one JSON line a lease')
    .addHelpText('after', HELP)
    .action((options: ReleaseOptions) => release(options, context))
}

function release(options: ReleaseOptions, { output }: CommandContext): Promise<void> {
  return withGroup(options, async (found) => {
    const ranges = (await chosenRanges(found, options.range)) ?? []
    const { leases } = await found.group.status()
    const chosen = leases.filter(({ range }) => ranges.some((one) => rangesOverlap(one, range)))
    if (chosen.length === 0) throw new InvalidOptionError('the group has no lease of these ranges')
    for (const { leaseId: range } of chosen) {
      const owner = await found.group.release(range)
      if (options.json === true) await writeJsonLine(output, { range, owner: owner ?? null })
      else await writeText(output, `${range}: released from ${owner ?? 'no host'}\n`)
    }
  })
}

function releasedRanges(text: string, before?: readonly NamedRange[]): readonly NamedRange[] {
  return text === 'all' ? [FULL_RANGE] : namedRanges(text, before)
}
