import { join } from 'node:path'
import { startTcpProxy } from '@tidemark/testing/servers'
import { machineMs } from '../../history.ts'
import { FAULT_TIMES } from '../../host-process.ts'
import type { LeasePlace } from '../lease-place.ts'
import { untilTaken } from '../owners.ts'
import { startRedis } from '../redis-faults.ts'
import type { StagedScenario } from '../scenario.ts'
import type { CampaignStage } from '../stage.ts'
import type { Worker } from '../worker.ts'

const HOUR_MS = 3_600_000
/** A session that began while the clock was not right, and what a busy machine needs. */
const TAKEN_WITHIN_MS = FAULT_TIMES.expirationMs + FAULT_TIMES.renewMs + 8_000

/** The machine's clock is set: everybody has it so from now on. */
async function setClocks(workers: readonly Worker[], byMs: number): Promise<number> {
  const sinceMs = machineMs()
  for (const worker of workers) worker.tell({ kind: 'stepClock', byMs })
  await Promise.all(workers.map((worker) => worker.until('clockSet', sinceMs)))
  return workers.length
}

/** The clock of the lease store is set back an hour, and a host dies: its leases are taken in the time of a session all the same. */
function setBack(
  leases: string,
  placeOf: (stage: CampaignStage) => Promise<LeasePlace>,
): StagedScenario {
  return {
    name: `clock-back-${leases}`,
    about: `the clock is set back an hour under leases in ${leases}, and a host is killed`,
    async act(stage) {
      const workers = await stage.startAll(['killed', 'other'], await placeOf(stage))
      const [killed, ...others] = workers
      if (killed === undefined) throw new Error('no worker')
      const set = await setClocks(workers, -HOUR_MS)
      const held = killed.openLeases()
      const sinceMs = machineMs()
      await killed.process.kill()
      const tookMs = (await untilTaken(others, held)) - sinceMs
      if (tookMs > TAKEN_WITHIN_MS) throw new Error(`taken over after ${Math.round(tookMs)} ms`)
      await stage.untilAtWork()
      return {
        faults: 2,
        signs: { 'clocks set back': set, 'leases taken': held.size },
        figures: `taken over after ${Math.round(tookMs)} ms`,
      }
    },
  }
}

export const clockBackUnderRedis: StagedScenario = setBack('redis', async (stage) => {
  const { place } = await startRedis(stage)
  return place
})
export const clockBackUnderDocuments: StagedScenario = setBack('documents', async (stage) => ({
  kind: 'documents',
  folder: join(stage.folder, 'leases'),
}))

export const cutWithClockStep: StagedScenario = {
  name: 'cut-with-clock-step',
  about:
    'a host is cut off from Redis, and the clock is set forward by a heartbeat again and again',
  async act(stage) {
    const { redis, place } = await startRedis(stage)
    const proxy = stage.use(await startTcpProxy(redis))
    const [cutOff, other] = await Promise.all([
      stage.start('cut-off', { kind: 'server', port: proxy.port }),
      stage.start('other', place),
    ])
    await stage.untilAtWork()
    const held = cutOff.openLeases()
    const sinceMs = machineMs()
    proxy.block('toServer', 'toClient')
    let steps = 0
    const taking = untilTaken([other], held)
    const timer = setInterval(() => {
      other.tell({ kind: 'stepClock', byMs: FAULT_TIMES.renewMs })
      steps += 1
    }, 50)
    const takenMs = await taking.finally(() => clearInterval(timer))
    const fencedMs = await cutOff.until('fenced', sinceMs)
    const swallowed = proxy.droppedBytes
    proxy.unblock()
    if (takenMs < fencedMs) {
      throw new Error(`taken ${Math.round(fencedMs - takenMs)} ms before its owner had stopped`)
    }
    await stage.untilAtWork()
    return {
      faults: 1 + steps,
      signs: { 'bytes swallowed': swallowed, 'times the clock was set': steps },
      figures: `stopped by itself after ${Math.round(fencedMs - sinceMs)} ms, taken over after ${Math.round(takenMs - sinceMs)} ms`,
    }
  },
}
