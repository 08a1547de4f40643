import { compileSlowSync, slowSyncEnvironment } from '../../measuring/slow-sync.ts'
import { startWorker } from '../worker-group.ts'
import { drain } from './drain.ts'
import type { PeerScenario } from './peer-scenario.ts'

const DELAYS_MS = [1, 5] as const

/** Drains by one worker in pages of 100 while each sync of that worker takes longer. */
export const peerSlowDisk: PeerScenario = {
  name: 'slow-disk',
  columns: DELAYS_MS.map((ms) => ({
    name: `sync${ms}ms`,
    heading: `${ms} ms a sync`,
    unit: 'documents/s',
  })),
  includes: ({ isEmbedded }) => isEmbedded,
  async open(session) {
    const shim = await compileSlowSync(await session.newFolder())
    const workers = await Promise.all(
      DELAYS_MS.map(async (ms) => ({
        ms,
        worker: await startWorker(session.entry, { env: slowSyncEnvironment(shim, { ms }) }),
      })),
    )
    return {
      async warmUp() {
        for (const { worker } of workers) await drain(session, [worker], 100)
      },
      async run() {
        const figures: Record<string, number> = {}
        for (const { ms, worker } of workers) {
          const { perSecond } = await drain(session, [worker], 100)
          figures[`sync${ms}ms`] = perSecond
        }
        return figures
      },
      async [Symbol.asyncDispose]() {
        await Promise.all(workers.map(({ worker }) => worker[Symbol.asyncDispose]()))
      },
    }
  },
}
