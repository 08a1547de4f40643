import { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import type { Finish } from '../finish.ts'
import { listLeasesCommand } from './list-leases.ts'
import { pauseCommand, resumeCommand } from './pause-leases.ts'
import { releaseCommand } from './release-leases.ts'
import { resetCommand, seekCommand } from './seek-leases.ts'
import { restoreCommand, snapshotCommand } from './snapshot-leases.ts'

/** `tidemark leases`: who works on what, and what operators do about it. Safe while hosts run. */
export function leasesCommand(context: CommandContext, finish: Finish): Command {
  return new Command('leases')
    .summary('look at the leases of processor groups; pause, move and release them')
    .description(
      'Looks at leases; pauses processor groups, moves them, takes leases from hosts, which may run meanwhile.',
    )
    .addCommand(listLeasesCommand(context))
    .addCommand(pauseCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(seekCommand(context, finish))
    .addCommand(resetCommand(context, finish))
    .addCommand(releaseCommand(context))
    .addCommand(snapshotCommand(context))
    .addCommand(restoreCommand(context, finish))
}
