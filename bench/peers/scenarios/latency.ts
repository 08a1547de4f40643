import { setTimeout as sleep } from 'node:timers/promises'
import { usageOf } from '../../measuring/process-usage.ts'
import { latencies, writePaced } from '../../measuring/paced-writes.ts'
import { quantile } from '../../measuring/statistics.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { startWorker, WorkerGroup, type WorkerProcess } from '../worker-group.ts'
import { judgeCalmGroup } from './check-promises.ts'
import {
  NONE,
  TAKEOVER_MS,
  type PeerFigures,
  type PeerScenario,
  type PeerSession,
} from './peer-scenario.ts'

export const WRITES_PER_SECOND = 1_000
const PATIENCE_MS = 10_000
/** What a worker does when it has just joined is not what it costs. */
const SETTLE_MS = 200

/** 1,000 writes a second: from the acknowledgement here to one worker in another process, and what that costs. */
export const peerLatency: PeerScenario = {
  name: 'latency',
  columns: [
    { name: 'p50', heading: 'p50', unit: 'ms' },
    { name: 'p99', heading: 'p99', unit: 'ms' },
    { name: 'fromCall.p50', heading: 'p50 from the call', unit: 'ms' },
    { name: 'workerCpu', heading: 'CPU of the worker', unit: '% of a core' },
    { name: 'serverCpu', heading: 'of the server', unit: '% of a core' },
  ],
  async open(session) {
    const worker = await startWorker(session.entry)
    return {
      async warmUp() {
        await follow(session, worker, Math.min(0.5, session.options.seconds / 4))
      },
      run: () => follow(session, worker, session.options.seconds),
      [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
    }
  },
}

async function follow(
  { entry, peer, newFolder, writer }: PeerSession,
  worker: WorkerProcess,
  seconds: number,
): Promise<PeerFigures> {
  const folder = await newFolder()
  const group = await WorkerGroup.join([worker], {
    entry,
    place: await peer.newGroup({ begin: 'now', takeoverMs: TAKEOVER_MS }),
    pageSize: 100,
    takeoverMs: TAKEOVER_MS,
    folder,
  })
  await group.go()
  await group.shared()
  await sleep(SETTLE_MS)
  const before = await Promise.all([usageOf([worker.pid]), usageOf(peer.serverPids)])
  const startedMs = machineMs()
  const indexes = new Map<number, number>()
  const times = await writePaced(
    (revision) => {
      const { index, acknowledged } = writer.write()
      indexes.set(index, revision)
      return acknowledged
    },
    { perSecond: WRITES_PER_SECOND, seconds },
  )
  const count = times.acknowledged.size
  await group.untilHandled(count, PATIENCE_MS)
  const elapsedMs = machineMs() - startedMs
  const after = await Promise.all([usageOf([worker.pid]), usageOf(peer.serverPids)])
  await group.leave()
  const { first } = judgeCalmGroup(group, { entry, count })
  const arrivals = new Map([...first].map(([index, atMs]) => [indexes.get(index) ?? -1, atMs]))
  const { fromCommitMs, fromCallMs } = latencies(times, arrivals)
  const cpu = after.map(({ cpuMs }, at) => ((cpuMs - (before[at]?.cpuMs ?? 0)) / elapsedMs) * 100)
  return {
    p50: quantile(fromCommitMs, 0.5),
    p99: quantile(fromCommitMs, 0.99),
    'fromCall.p50': quantile(fromCallMs, 0.5),
    workerCpu: cpu[0] ?? NONE,
    serverCpu: peer.serverPids.length === 0 ? NONE : (cpu[1] ?? NONE),
  }
}
