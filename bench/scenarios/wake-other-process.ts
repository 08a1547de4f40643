import { setTimeout as sleep } from 'node:timers/promises'
import type { WakeReply, WakeRequest } from '../children/wake.child.ts'
import { orderDocument } from '../data/order-document.ts'
import { BenchChild } from '../measuring/child-process.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { quantile } from '../measuring/statistics.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { Doorbell } from '../raw/doorbell.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

const ROUNDS_PER_SECOND = 50

/** A waiting read in another process after one commit here; nothing else goes on. */
export const wakeOtherProcess: Scenario = {
  name: 'wake-other-process',
  measures: [
    {
      name: 'store.wake.otherProcess.p50',
      unit: 'ms',
      rawIs: 'a byte over a unix socket',
      goal: { of: 'value', is: 'atMost', limit: 1 },
    },
  ],
  async prepare({ folder }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    const sleeper = await BenchChild.start<WakeRequest, WakeReply>(
      new URL('../children/wake.child.ts', import.meta.url),
    )
    const bell = `${folder}/wake-bell`
    await sleeper.call({ kind: 'open', folder, bell })
    const doorbell = await Doorbell.connect(bell)
    /** From the moment that `act` returns to the one in which the other process noticed, ms. */
    const measure = async (
      kind: 'beginCommit' | 'beginRing',
      { act, seconds }: { act: () => Promise<number> | number; seconds: number },
    ): Promise<{ [name: string]: number }> => {
      const waits: number[] = []
      for (let round = 0; round < Math.max(10, seconds * ROUNDS_PER_SECOND); round++) {
        await sleeper.call({ kind })
        await sleep(5)
        const acted = await act()
        const { wokenAtMs } = await sleeper.call({ kind: 'end' })
        // The doorbell rings before the writer's own promise resolves: then there is no wait at all.
        waits.push(Math.max(0.001, wokenAtMs - acted))
      }
      return { 'store.wake.otherProcess.p50': quantile(waits, 0.5) }
    }
    let revision = 0
    return {
      ours: (seconds) =>
        measure('beginCommit', {
          seconds,
          act: async () => {
            await store.orders.upsert(orderDocument(0, ++revision))
            return machineMs()
          },
        }),
      raw: (seconds) =>
        measure('beginRing', {
          seconds,
          act: () => {
            const rungAtMs = machineMs()
            doorbell.ring()
            return rungAtMs
          },
        }),
      async [Symbol.asyncDispose]() {
        doorbell[Symbol.dispose]()
        await sleeper[Symbol.asyncDispose]()
        await store.close()
      },
    }
  },
}
