import { setTimeout as sleep } from 'node:timers/promises'
import { machineMs } from '../../history.ts'
import { untilTaken } from '../owners.ts'
import { startRedis } from '../redis-faults.ts'
import type { StagedScenario, Told } from '../scenario.ts'
import type { CampaignStage } from '../stage.ts'
import type { Worker } from '../worker.ts'

/** So long that a busy machine does not make a short fault longer than it. */
const LONG_SESSION = { expirationMs: 8_000 }
const SHORT_FAULT_MS = 1_500
/** In the midst of a batch nearly always. */
const BUSY = { behaviour: { kind: 'steady', maxMs: 60 } } as const

/** Does nothing for a while, and is told by the gap in its history. */
async function shortFault(
  stage: CampaignStage,
  fault: (worker: Worker) => Promise<void>,
): Promise<Told> {
  const { place } = await startRedis(stage)
  const [worker] = await stage.startAll(['a', 'b'], place, LONG_SESSION)
  if (worker === undefined) throw new Error('no worker')
  const owners = stage.owners()
  const sinceMs = machineMs()
  await fault(worker)
  const gapMs = longestGapMs(worker, sinceMs)
  await worker.untilWorks(5, machineMs())
  stage.expectOwners(owners, sinceMs)
  return {
    faults: 1,
    signs: { 'ms without a step': gapMs >= SHORT_FAULT_MS * 0.8 ? Math.round(gapMs) : 0 },
  }
}

/** Does nothing for so long that the others take what it has; awake again it begins a new session. */
async function longFault(
  stage: CampaignStage,
  fault: (worker: Worker, untilTaken: () => Promise<void>) => Promise<void>,
): Promise<Told> {
  const { place } = await startRedis(stage)
  const [worker, ...others] = await stage.startAll(['a', 'b'], place, BUSY)
  if (worker === undefined) throw new Error('no worker')
  const held = worker.openLeases()
  const sinceMs = machineMs()
  let takenMs = 0
  await fault(worker, async () => {
    takenMs = (await untilTaken(others, held)) - sinceMs
  })
  await worker.until('fenced', sinceMs)
  await stage.untilAtWork()
  return {
    faults: 1,
    signs: {
      'leases taken': held.size,
      'sessions begun anew': worker.entries('joined').length - 1,
    },
    figures: `taken over after ${Math.round(takenMs)} ms`,
  }
}

function longestGapMs(worker: Worker, sinceMs: number): number {
  const times = [
    sinceMs,
    ...worker.history.map(({ atMs }) => atMs).filter((atMs) => atMs > sinceMs),
    machineMs(),
  ]
  return Math.max(...times.slice(1).map((atMs, index) => atMs - (times[index] ?? atMs)))
}

export const stopShort: StagedScenario = {
  name: 'stop-short',
  about: 'SIGSTOP of a host for less than its session: no lease moves',
  act: (stage) =>
    shortFault(stage, async ({ process }) => {
      process.pause()
      await sleep(SHORT_FAULT_MS)
      process.resume()
    }),
}

export const stopLong: StagedScenario = {
  name: 'stop-long',
  about:
    'SIGSTOP of a host for longer than its session: others take over, and awake again it dispatches nothing',
  act: (stage) =>
    longFault(stage, async ({ process }, taken) => {
      process.pause()
      await taken()
      process.resume()
    }),
}

export const blockShort: StagedScenario = {
  name: 'block-short',
  about: 'the event loop of a host blocked for less than its session: no lease moves',
  act: (stage) =>
    shortFault(stage, async (worker) => {
      worker.tell({ kind: 'block', ms: SHORT_FAULT_MS })
      await sleep(SHORT_FAULT_MS + 300)
    }),
}

export const blockLong: StagedScenario = {
  name: 'block-long',
  about:
    'the event loop of a host blocked for longer than its session: it beats before it dispatches',
  act: (stage) =>
    longFault(stage, async (worker, taken) => {
      worker.tell({ kind: 'block', ms: 5_000 })
      await taken()
    }),
}

export const kill: StagedScenario = {
  name: 'kill',
  about: 'kill -9 of hosts: at most the batch in flight comes again',
  async act(stage) {
    const { place } = await startRedis(stage)
    await stage.startAll(['a', 'b', 'c'], place, BUSY)
    let taken = 0
    const kills = 2
    for (let count = 0; count < kills; count++) {
      const victim = stage.random.pick(stage.workers)
      const held = victim.openLeases()
      await victim.process.kill()
      await untilTaken(stage.workers, held)
      taken += held.size
      await stage.start(`${victim.name}-${count}`, place, BUSY)
      await stage.untilAtWork()
    }
    return { faults: kills, signs: { 'leases taken': taken } }
  },
}
