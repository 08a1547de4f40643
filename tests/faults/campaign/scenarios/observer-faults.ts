import { machineMs } from '../../history.ts'
import { FAULT_TIMES } from '../../host-process.ts'
import { until } from '../../until.ts'
import { untilTaken } from '../owners.ts'
import { startRedis } from '../redis-faults.ts'
import type { StagedScenario, Told } from '../scenario.ts'
import type { CampaignStage } from '../stage.ts'
import type { Behaviour } from '../worker-task.ts'
import type { Worker } from '../worker.ts'

const STEADY: Behaviour = { kind: 'steady', maxMs: 12 }
const SLOW_MS = FAULT_TIMES.expirationMs + 500

export const observerSlow: StagedScenario = {
  name: 'observer-slow',
  about: 'an observer that works on a batch for longer than a session keeps its leases',
  async act(stage) {
    const { place } = await startRedis(stage)
    const [slow] = await stage.startAll(['a', 'b'], place)
    if (slow === undefined) throw new Error('no worker')
    const owners = stage.owners()
    const sinceMs = machineMs()
    slow.tell({ kind: 'behave', behaviour: { kind: 'slow', ms: SLOW_MS } })
    await until(() => slowBatches(slow) > 0, { what: 'a slow batch' })
    slow.tell({ kind: 'behave', behaviour: STEADY })
    await stage.untilAtWork()
    stage.expectOwners(owners, sinceMs)
    return { faults: 1, signs: { 'batches longer than a session': slowBatches(slow) } }
  },
}

function slowBatches(worker: Worker): number {
  const begins = new Map<string, number>()
  let slow = 0
  for (const entry of worker.history) {
    if (entry.kind === 'dispatch') begins.set(entry.lease, entry.atMs)
    if (entry.kind !== 'complete') continue
    if (entry.atMs - (begins.get(entry.lease) ?? entry.atMs) > FAULT_TIMES.expirationMs) slow += 1
  }
  return slow
}

export const observerThrowing: StagedScenario = {
  name: 'observer-throwing',
  about:
    'observers that do half of every third batch and throw: the batch comes again, nothing passes it',
  async act(stage) {
    const { place } = await startRedis(stage)
    const workers = await stage.startAll(['a', 'b'], place)
    const owners = stage.owners()
    const sinceMs = machineMs()
    for (const worker of workers) worker.tell({ kind: 'behave', behaviour: { kind: 'throwing' } })
    const threw = (): number =>
      workers.reduce((sum, worker) => sum + worker.events('threw').length, 0)
    await until(() => threw() >= 40, { what: '40 batches that failed' })
    for (const worker of workers) worker.tell({ kind: 'behave', behaviour: STEADY })
    await stage.untilAtWork()
    stage.expectOwners(owners, sinceMs)
    return {
      faults: threw(),
      signs: { 'batches that failed': threw() },
      tolerates: ['observerError'],
    }
  },
}

/** One batch is never done; the host has to leave in spite of it, and another takes the batch over. */
async function hanging(stage: CampaignStage, abort: 'obedient' | 'deaf'): Promise<Told> {
  const { place } = await startRedis(stage)
  const [worker] = await stage.startAll(['a', 'b'], place, { drainMs: 1_000, graceMs: 500 })
  if (worker === undefined) throw new Error('no worker')
  const sinceMs = machineMs()
  worker.tell({ kind: 'behave', behaviour: { kind: 'hanging', abort } })
  const hangsMs = await worker.until('hangs', sinceMs)
  // Its other leases go on.
  await worker.untilWorks(20, hangsMs)
  worker.tell({ kind: 'leave' })
  const leftMs = await worker.until('left', hangsMs)
  const aborted = worker.events('aborted', hangsMs).length
  worker.tell({ kind: 'join' })
  await worker.until('registered', leftMs)
  await stage.untilAtWork()
  return {
    faults: 1,
    signs: {
      'batches that hung': worker.events('hangs').length,
      'calls that were aborted': aborted,
    },
    abortedBatches: 1,
    tolerates: ['observerError'],
    figures: `left ${Math.round(leftMs - hangsMs)} ms after it hung`,
  }
}

export const observerStuck: StagedScenario = {
  name: 'observer-stuck',
  about:
    'an observer that never returns is given up after maxBatchMs: its lease goes to another host',
  async act(stage) {
    const { place } = await startRedis(stage)
    const [stuck, ...others] = await stage.startAll(['a', 'b'], place, { maxBatchMs: 1_500 })
    if (stuck === undefined) throw new Error('no worker')
    const sinceMs = machineMs()
    stuck.tell({ kind: 'behave', behaviour: { kind: 'hanging', abort: 'deaf' } })
    const hangsMs = await stuck.until('hangs', sinceMs)
    await stuck.until('observerStuck', hangsMs)
    const [event] = stuck.events('observerStuck', hangsMs)
    // As the host told it.
    const held = JSON.parse(event?.detail ?? '{}') as { leaseId: string; epoch: number }
    const takenMs = await untilTaken(others, new Map([[held.leaseId, held.epoch]]))
    await stage.untilAtWork()
    return {
      faults: 1,
      signs: { 'batches that hung': stuck.events('hangs').length, 'leases given up': 1 },
      tolerates: ['observerError'],
      figures: `taken over ${Math.round(takenMs - hangsMs)} ms after it hung`,
    }
  },
}

export const observerHanging: StagedScenario = {
  name: 'observer-hanging',
  about:
    'an observer that does not return until it is aborted: its other leases go on, the host can leave',
  act: (stage) => hanging(stage, 'obedient'),
}

export const observerDeaf: StagedScenario = {
  name: 'observer-deaf',
  about:
    'an observer that never returns and ignores its abort: its other leases go on, the host can leave',
  act: (stage) => hanging(stage, 'deaf'),
}
