import { usageOf } from '../../measuring/process-usage.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import type { Judgement } from '../judging/judge-handled.ts'
import { startWorker, WorkerGroup, type WorkerProcess } from '../worker-group.ts'
import { judgeCalmGroup } from './check-promises.ts'
import {
  NONE,
  TAKEOVER_MS,
  type PeerFigures,
  type PeerScenario,
  type PeerSession,
} from './peer-scenario.ts'

const PAGES = [100, 1_000] as const
const PATIENCE_MS = 60_000

/** A group takes all that was loaded, by one and by two workers, with an acknowledgement or a checkpoint after each page. */
export const peerDrain: PeerScenario = {
  name: 'drain',
  columns: [
    ...PAGES.flatMap((page) => [
      { name: `page${page}.1worker`, heading: `page ${page}, 1 worker`, unit: 'documents/s' },
      { name: `page${page}.2workers`, heading: `page ${page}, 2 workers`, unit: 'documents/s' },
    ]),
    { name: 'orderBreaks', heading: 'out of order', unit: 'documents' },
    { name: 'repeats', heading: 'repeats', unit: 'documents' },
    { name: 'first', heading: 'first document', unit: 'ms' },
    { name: 'workerMiB', heading: 'worker', unit: 'MiB' },
    { name: 'serverMiB', heading: 'server', unit: 'MiB' },
  ],
  async open(session) {
    const { entry, peer } = session
    const one = await startWorker(entry)
    const other = await startWorker(entry)
    const workers = [one, other]
    return {
      async warmUp() {
        await drain(session, entry.sharing === 'standby' ? [one] : workers, PAGES[0])
      },
      async run() {
        const first = await firstDocument(session, one)
        const figures: Record<string, number> = { first, orderBreaks: 0, repeats: 0 }
        for (const page of PAGES) {
          const alone = await drain(session, [one], page)
          figures[`page${page}.1worker`] = alone.perSecond
          if (page === PAGES[0]) Object.assign(figures, await memoryOf(session, one))
          const both = await drainByTwo(session, workers, page)
          figures[`page${page}.2workers`] = both?.perSecond ?? NONE
          figures['orderBreaks']! += alone.orderBreaks + (both?.orderBreaks ?? 0)
          figures['repeats']! += alone.repeats + (both?.repeats ?? 0)
        }
        await peer.newGroup({ begin: 'now', takeoverMs: TAKEOVER_MS })
        return figures
      },
      async [Symbol.asyncDispose]() {
        await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()))
      },
    }
  },
}

/** Where one worker stands by, there is nothing to measure. */
function drainByTwo(
  session: PeerSession,
  workers: readonly WorkerProcess[],
  page: number,
): Promise<Drained> | undefined {
  return session.entry.sharing === 'standby' ? undefined : drain(session, workers, page)
}

interface Drained extends Judgement {
  readonly perSecond: number
}

/** Timed from the moment at which the workers share the documents and may begin. */
export async function drain(
  { entry, peer, documents, newFolder }: PeerSession,
  workers: readonly WorkerProcess[],
  pageSize: number,
): Promise<Drained> {
  const folder = await newFolder()
  const takeoverMs = TAKEOVER_MS
  const place = await peer.newGroup({ begin: 'beginning', takeoverMs })
  const group = await WorkerGroup.join(workers, { entry, place, pageSize, takeoverMs, folder })
  if (entry.sharing !== 'standby') await group.shared()
  const startedMs = machineMs()
  await group.go()
  await group.untilHandled(documents, PATIENCE_MS)
  await group.leave()
  const judged = judgeCalmGroup(group, { entry, count: documents })
  let lastMs = 0
  for (const atMs of judged.first.values()) lastMs = Math.max(lastMs, atMs)
  return { ...judged, perSecond: (documents / (lastMs - startedMs)) * 1000 }
}

/** From the call that joins an empty group to the first document, in a process that has loaded everything. */
async function firstDocument(
  { entry, peer, newFolder }: PeerSession,
  worker: WorkerProcess,
): Promise<number> {
  const folder = await newFolder()
  const takeoverMs = TAKEOVER_MS
  const place = await peer.newGroup({ begin: 'beginning', takeoverMs })
  const startedMs = machineMs()
  const group = await WorkerGroup.join([worker], {
    entry,
    place,
    pageSize: PAGES[0],
    takeoverMs,
    folder,
  })
  await group.go()
  await group.untilHandled(1, PATIENCE_MS)
  await group.leave()
  const atMs = group.handled()[0]?.[0]?.atMs
  if (atMs === undefined) throw new Error(`${entry.name}: no document came`)
  return atMs - startedMs
}

async function memoryOf({ peer }: PeerSession, worker: WorkerProcess): Promise<PeerFigures> {
  const server = await usageOf(peer.serverPids)
  return {
    workerMiB: (await usageOf([worker.pid])).residentMiB,
    serverMiB: peer.serverPids.length === 0 ? NONE : server.residentMiB,
  }
}
