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
For leases whose observer hangs, or that were halted by failures. Positions
stay. What the host still does there is refused from now on; the leases are
given out anew, to fresh observers.

Examples:
  tidemark leases release --group mirror --store ./data --range 3
  tidemark leases release --group mirror --store ./data --range all`

/** `tidemark leases release`. */
export function releaseCommand(context: CommandContext): Command {
  const command = new Command('release')
    .summary('take leases from their hosts, and give them out anew')
    .description('Takes leases from their hosts, and gives them out anew.')
  return withGroupOptions(command)
    .requiredOption(
      '--range <id>',
      'leases of this range: min-max as "leases ls --json" has it, a pkrange, or all; may be repeated',
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
      else await writeText(output, `${range}: released, ${owner ?? 'nobody'} had it\n`)
    }
  })
}

function releasedRanges(text: string, before?: readonly NamedRange[]): readonly NamedRange[] {
  return text === 'all' ? [FULL_RANGE] : namedRanges(text, before)
}
