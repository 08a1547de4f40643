import { Command } from 'commander'
import { wholeNumber } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { withGroup, withGroupOptions, type GroupOptions } from '../group-location.ts'
import { writeText } from '../output/json-lines.ts'

interface PauseOptions extends GroupOptions {
  readonly wait?: number
}

const PAUSE_HELP = `
The hosts finish their calls in progress, store their positions, release their
leases and stay in the group. Nothing is lost or repeated. With --wait, the
command ends when the last host has done so, and fails when that takes longer.

Examples:
  tidemark leases pause --group mirror --store ./data --wait 60
  tidemark leases resume --group mirror --store ./data`

/** `tidemark leases pause`. */
export function pauseCommand(context: CommandContext): Command {
  const command = new Command('pause')
    .summary('stop the processing of a group')
    .description('Pauses a processor group: its hosts own no leases until you resume it.')
  return withGroupOptions(command)
    .option('--wait <seconds>', 'wait until no host has a lease', wholeNumber(0))
    .addHelpText('after', PAUSE_HELP)
    .action(async ({ wait, ...options }: PauseOptions) => {
      await withGroup(options, async ({ group }) => {
        const isNew = await group.pause()
        await writeText(context.output, isNew ? 'paused\n' : 'it was paused already\n')
        if (wait === undefined) return
        if (!(await group.waitUntilDrained({ timeoutMs: wait * 1000 }))) {
          const { hosts } = await group.status()
          const busy = hosts.filter(({ leases }) => leases > 0).map(({ host }) => host)
          throw new Error(`after ${wait} s, these hosts still have leases: ${busy.join(', ')}`)
        }
        await writeText(context.output, 'no host has a lease\n')
      })
    })
}

/** `tidemark leases resume`. */
export function resumeCommand(context: CommandContext): Command {
  const command = new Command('resume')
    .summary('continue the processing exactly where it stopped')
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
