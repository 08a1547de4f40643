import { setTimeout as sleep } from 'node:timers/promises'
import {
  startRedisCluster,
  type RedisClusterServers,
  type RedisProcess,
} from '@tidemark/testing/servers'
import { machineMs } from '../../history.ts'
import { GROUP } from '../../ranges/keyed-store.ts'
import type { LeasePlace } from '../lease-place.ts'
import { errorCount, replicatedMs } from '../redis-faults.ts'
import type { StagedScenario } from '../scenario.ts'

const PATIENCE_MS = 30_000
const NOTICE_MS = 1_000
const MOVES = 2
const KEY_PAUSE_MS = 60

function placeOf({ nodes }: RedisClusterServers): LeasePlace {
  return { kind: 'cluster', ports: nodes.map(({ port }) => port) }
}

/** All keys of a group are in one slot. */
async function slotOfGroup({ nodes }: RedisClusterServers): Promise<number> {
  return Number(await nodes[0]?.admin.call('CLUSTER', 'KEYSLOT', `{${GROUP}}`))
}

export const clusterFailOver: StagedScenario = {
  name: 'cluster-fail-over',
  about: 'the master of the group dies under load; its replica takes its slots over',
  async act(stage) {
    const cluster = stage.use(await startRedisCluster({ replicas: 1, nodeTimeoutMs: PATIENCE_MS }))
    const workers = await stage.startAll(['a', 'b'], placeOf(cluster))
    const slot = await slotOfGroup(cluster)
    const master = await cluster.masterOf(slot)
    const fromMs = await replicatedMs(master, 1)
    await master.kill()
    const killedMs = machineMs()
    // Not before: a master that a busy machine keeps waiting would be taken for dead, too.
    for (const { admin, running } of cluster.nodes) {
      if (running) await admin.config('SET', 'cluster-node-timeout', NOTICE_MS)
    }
    const promoted = await untilTakenOver(cluster, slot, master)
    const promotedMs = machineMs()
    await stage.untilAtWork()
    return {
      faults: 1,
      signs: {
        'fail-overs': promoted === master ? 0 : 1,
        'hosts that missed an answer': workers.filter(
          (worker) => worker.events('leaseStoreUnavailable', fromMs).length > 0,
        ).length,
      },
      exclusive: false,
      // What was answered right before the death may not have reached the replica.
      lost: { fromMs, toMs: killedMs },
      figures: `taken over ${Math.round(promotedMs - killedMs)} ms after the death`,
    }
  },
}

async function untilTakenOver(
  cluster: RedisClusterServers,
  slot: number,
  old: RedisProcess,
): Promise<RedisProcess> {
  const endMs = machineMs() + PATIENCE_MS
  for (;;) {
    const master = await cluster.masterOf(slot).catch(() => old)
    if (master !== old) return master
    if (machineMs() > endMs) throw new Error(`no replica took over within ${PATIENCE_MS} ms`)
    await sleep(20)
  }
}

export const clusterSlotMoves: StagedScenario = {
  name: 'cluster-slot-moves',
  about:
    "the group's slot moves to other masters key by key (ASK, TRYAGAIN, MOVED): no lease moves",
  async act(stage) {
    const cluster = stage.use(await startRedisCluster())
    await stage.startAll(['a', 'b'], placeOf(cluster), { expirationMs: 8_000 })
    const owners = stage.owners()
    const sinceMs = machineMs()
    const slot = await slotOfGroup(cluster)
    let keys = 0
    for (let move = 0; move < MOVES; move++) {
      const from = await cluster.masterOf(slot)
      const to = stage.random.pick(cluster.nodes.filter((node) => node !== from))
      keys += await moveSlot(cluster, slot, { from, to })
      await stage.untilAtWork()
    }
    stage.expectOwners(owners, sinceMs)
    const count = async (name: string): Promise<number> => {
      const counts = await Promise.all(cluster.nodes.map((node) => errorCount(node, name)))
      return counts.reduce((sum, each) => sum + each, 0)
    }
    const redirected = { ASK: await count('ASK'), TRYAGAIN: await count('TRYAGAIN') }
    return {
      faults: MOVES,
      signs: {
        'keys moved': keys,
        'answers MOVED': await count('MOVED'),
        'answers ASK or TRYAGAIN': redirected.ASK + redirected.TRYAGAIN,
      },
      figures: `${redirected.ASK} ASK, ${redirected.TRYAGAIN} TRYAGAIN`,
    }
  },
}

/** As an operator does it with a running cluster. Slowly, so that calls meet a slot that is in two places. */
async function moveSlot(
  { nodes }: RedisClusterServers,
  slot: number,
  { from, to }: { readonly from: RedisProcess; readonly to: RedisProcess },
): Promise<number> {
  const fromId = String(await from.admin.call('CLUSTER', 'MYID'))
  const toId = String(await to.admin.call('CLUSTER', 'MYID'))
  await to.admin.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId)
  await from.admin.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId)
  const keys = (await from.admin.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]
  for (const key of keys) {
    await from.admin.call('MIGRATE', to.host, to.port, '', 0, 5_000, 'KEYS', key)
    await sleep(KEY_PAUSE_MS)
  }
  for (const { admin } of [to, from, ...nodes]) {
    await admin.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId)
  }
  return keys.length
}
