import { useLightAbort } from '@tidemark/testing/simulation'
import type { CampaignTask, SeedRange } from './messages.ts'
import { runSeeds } from './run-seeds.ts'

// Runs the seeds that its parent asks for; ends when the parent lets go of it.

// From the parent, which is of the same version.
const task = JSON.parse(process.argv[2] ?? '') as CampaignTask
if (!task.platformAbort) useLightAbort()
// Errors are part of what is simulated, and nobody reads where they came from.
Error.stackTraceLimit = 0

process.on('message', (range: SeedRange) => {
  void answer(range)
})

async function answer(range: SeedRange): Promise<void> {
  process.send?.(await runSeeds(range, task))
}
