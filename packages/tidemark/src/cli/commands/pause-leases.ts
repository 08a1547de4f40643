import { Command } from 'commander'
import { wholeNumber } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { withGroup, withGroupOptions, type GroupOptions } from '../group-location.ts'
import { writeText } from '../output/json-lines.ts'

interface PauseOptions extends GroupOptions {
  readonly wait?: number
}

const PAUSE_HELP = `
Hosts finish what they have in hand, store where they are, give their leases
back and stay. Nothing is lost or repeated by it. With --wait it ends when the
last host has done so, and fails when that takes longer.

Examples:
  tidemark leases pause --group mirror --store ./data --wait 60
  tidemark leases resume --group mirror --store ./data`

/** `tidemark leases pause`. */
export function pauseCommand(context: CommandContext): Command {
  const command = new Command('pause')
    .summary('let the hosts of a group rest')
    .description('Pauses a processor group: no host works for it until it is resumed.')
  return withGroupOptions(command)
    .option('--wait <seconds>', 'wait until no host works any more', wholeNumber(0))
    .addHelpText('after', PAUSE_HELP)
    .action(async ({ wait, ...options }: PauseOptions) => {
      await withGroup(options, async ({ group }) => {
        const isNew = await group.pause()
        await writeText(context.output, isNew ? 'paused\n' : 'it was paused already\n')
        if (wait === undefined) return
        if (!(await group.waitUntilDrained({ timeoutMs: wait * 1000 }))) {
          const { hosts } = await group.status()
          const busy = hosts.filter(({ leases }) => leases > 0).map(({ host }) => host)
          throw new Error(`after ${wait} s these hosts still have leases: ${busy.join(', ')}`)
        }
        await writeText(context.output, 'no host works any more\n')
      })
    })
}

/** `tidemark leases resume`. */
export function resumeCommand(context: CommandContext): Command {
  const command = new Command('resume')
    .summary('let them go on, exactly where they were')
    .description('Resumes a paused processor group.')
  return withGroupOptions(command)
    .addHelpText('after', PAUSE_HELP)
    .action(async (options: GroupOptions) => {
      await withGroup(options, async ({ group }) => {
        const isNew = await group.resume()
        await writeText(context.output, isNew ? 'resumed\n' : 'it was not paused\n')
      })
    })
}
