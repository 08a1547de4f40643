import { Command } from 'commander'
import type { CommandContext } from '../command-context.ts'
import type { Finish } from '../finish.ts'
import { listLeasesCommand } from './list-leases.ts'
import { pauseCommand, resumeCommand } from './pause-leases.ts'
import { releaseCommand } from './release-leases.ts'
import { resetCommand, seekCommand } from './seek-leases.ts'
import { restoreCommand, snapshotCommand } from './snapshot-leases.ts'
import { exportCommand, importCommand } from './v3-leases.ts'

/** `tidemark leases`: who processes what, and the commands of operators. Safe while hosts run. */
export function leasesCommand(context: CommandContext, finish: Finish): Command {
  return new Command('leases')
    .summary('show the leases of processor groups; pause, move and release them')
    .description(
      'Shows leases, pauses and moves processor groups, takes leases from hosts. Hosts can keep running.',
    )
    .addCommand(listLeasesCommand(context))
    .addCommand(pauseCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(seekCommand(context, finish))
    .addCommand(resetCommand(context, finish))
    .addCommand(releaseCommand(context))
    .addCommand(snapshotCommand(context))
    .addCommand(restoreCommand(context, finish))
    .addCommand(importCommand(context, finish))
    .addCommand(exportCommand(context, finish))
}
