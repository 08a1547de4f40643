import { setTimeout as sleep } from 'node:timers/promises'
import { machineMs } from '../../history.ts'
import { startRedis } from '../redis-faults.ts'
import type { StagedScenario } from '../scenario.ts'

const STORM_MS = 6_000
const MAX_PAUSE_MS = 250

export const joinLeaveStorm: StagedScenario = {
  name: 'join-leave-storm',
  about: 'hosts join and leave without end: in order, so that nothing is repeated',
  async act(stage) {
    const { place } = await startRedis(stage)
    const workers = await stage.startAll(['a', 'b', 'c', 'd'], place)
    const away = new Set<string>()
    const endMs = machineMs() + STORM_MS
    let turns = 0
    while (machineMs() < endMs) {
      const worker = stage.random.pick(workers)
      if (away.delete(worker.name)) worker.tell({ kind: 'join' })
      else if (away.size < workers.length - 1) {
        away.add(worker.name)
        worker.tell({ kind: 'leave' })
      }
      turns += 1
      await sleep(stage.random.fraction() * MAX_PAUSE_MS)
    }
    for (const worker of workers) if (away.has(worker.name)) worker.tell({ kind: 'join' })
    await stage.untilAtWork()
    const sum = (name: string): number =>
      workers.reduce((total, worker) => total + worker.events(name).length, 0)
    return {
      faults: turns,
      signs: {
        'hosts that left': sum('left'),
        'hosts that joined again': sum('registered') - workers.length,
        'leases handed over': sum('leaseReleased'),
      },
    }
  },
}
