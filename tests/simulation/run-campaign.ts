import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { CampaignTask, SeedRange, SeedsDone } from './messages.ts'

/** Seeds that a child is given at once: few, so that all are busy to the end. */
const CHUNK = 250

export interface CampaignOptions extends SeedRange {
  readonly processes: number
  readonly onDone: (done: SeedsDone) => void
}

/** Runs the schedules of many seeds in several processes, and hands on what became of them as it comes. */
export async function runCampaign(
  task: CampaignTask,
  { from, until, processes, onDone }: CampaignOptions,
): Promise<void> {
  const ranges: SeedRange[] = []
  for (let first = from; first < until; first += CHUNK) {
    ranges.push({ from: first, until: Math.min(until, first + CHUNK) })
  }
  const count = Math.min(processes, ranges.length)
  await Promise.all(Array.from({ length: count }, () => runChild(task, ranges, onDone)))
}

/** One child, which takes ranges of seeds until none is left. */
async function runChild(
  task: CampaignTask,
  ranges: SeedRange[],
  onDone: (done: SeedsDone) => void,
): Promise<void> {
  const path = fileURLToPath(new URL('seeds.child.ts', import.meta.url))
  const child = fork(path, [JSON.stringify(task)], {
    execArgv: ['--conditions=@tidemark/source', '--max-semi-space-size=32'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  try {
    for (let range = ranges.shift(); range !== undefined; range = ranges.shift()) {
      child.send(range)
      onDone(await nextAnswer(child, exited, range))
    }
  } finally {
    if (child.connected) child.disconnect()
  }
  await exited
}

async function nextAnswer(
  child: ChildProcess,
  exited: Promise<unknown>,
  { from, until }: SeedRange,
): Promise<SeedsDone> {
  const message = await Promise.race([once(child, 'message'), exited.then(() => undefined)])
  if (message === undefined) throw new Error(`the process that ran seeds ${from} to ${until} ended`)
  // From the child, which is of the same version.
  return message[0] as SeedsDone
}
