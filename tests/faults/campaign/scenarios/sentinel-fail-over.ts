import { setTimeout as sleep } from 'node:timers/promises'
import { startSentinelSet, type RedisProcess, type SentinelSet } from '@tidemark/testing/servers'
import { machineMs } from '../../history.ts'
import { GROUP } from '../../ranges/keyed-store.ts'
import type { LeasePlace } from '../lease-place.ts'
import { replicatedMs } from '../redis-faults.ts'
import type { StagedScenario } from '../scenario.ts'

/** How far the replicas are behind when the primary dies. */
const LAG_MS = 600
const NOTICE_MS = 500
const PATIENCE_MS = 30_000
const POSITIONS = `tidemark:leases:{${GROUP}}:c`

export const sentinelFailOver: StagedScenario = {
  name: 'sentinel-fail-over',
  about: 'the primary dies under load while its replicas are behind; Sentinel promotes one of them',
  async act(stage) {
    const set = stage.use(await startSentinelSet())
    // Else they also take a server for dead that a busy machine keeps waiting, and more is lost than what is counted.
    await noticeAfter(set, PATIENCE_MS)
    const place: LeasePlace = {
      kind: 'sentinels',
      ports: set.sentinels.map(({ port }) => port),
      masterName: set.masterName,
    }
    const workers = await stage.startAll(['a', 'b'], place)
    const primary = await set.primary()
    const replicas = set.data.filter((server) => server !== primary)
    const fromMs = await replicatedMs(primary, replicas.length)
    // Nobody answers there: they have what they have.
    for (const { admin } of replicas) await admin.call('REPLICAOF', '127.0.0.1', '1')
    await sleep(LAG_MS)
    const missing = await positionsMissing(primary, replicas)
    await primary.kill()
    const killedMs = machineMs()
    await noticeAfter(set, NOTICE_MS)
    const promoted = await untilPromoted(set, primary)
    await noticeAfter(set, PATIENCE_MS)
    const promotedMs = machineMs()
    await stage.untilAtWork()
    return {
      faults: 1,
      signs: {
        'fail-overs': promoted === primary ? 0 : 1,
        'positions that the new primary lacks': missing,
        'hosts that missed an answer': workers.filter(
          (worker) => worker.events('leaseStoreUnavailable', fromMs).length > 0,
        ).length,
      },
      exclusive: false,
      // What is done later can not be stored before the fail-over: two batches a lease at most.
      lost: { fromMs, toMs: killedMs },
      figures:
        `promoted ${Math.round(promotedMs - killedMs)} ms after the death, ` +
        `replicas ${Math.round(killedMs - fromMs)} ms behind`,
    }
  },
}

/** After how long a silence the Sentinels take a server for dead. */
async function noticeAfter(
  { sentinels, masterName }: SentinelSet,
  silenceMs: number,
): Promise<void> {
  for (const { admin } of sentinels) {
    await admin.call('SENTINEL', 'SET', masterName, 'down-after-milliseconds', silenceMs)
  }
}

/** Leases whose stored position each of the replicas has not got. */
async function positionsMissing(
  primary: RedisProcess,
  replicas: readonly RedisProcess[],
): Promise<number> {
  const stored = await primary.admin.hgetall(POSITIONS)
  const kept = await Promise.all(replicas.map(({ admin }) => admin.hgetall(POSITIONS)))
  return Object.entries(stored).filter(([lease, position]) =>
    kept.every((positions) => positions[lease] !== position),
  ).length
}

async function untilPromoted(set: SentinelSet, old: RedisProcess): Promise<RedisProcess> {
  const endMs = machineMs() + PATIENCE_MS
  for (;;) {
    const primary = await set.primary()
    if (primary !== old) return primary
    if (machineMs() > endMs) throw new Error(`no replica was promoted within ${PATIENCE_MS} ms`)
    await sleep(20)
  }
}
