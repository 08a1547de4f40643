import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from 'ioredis'
import { KillAtExit } from './kill-at-exit.ts'
import { startRedisProcess, type RedisProcess } from './redis-process.ts'

const SLOTS = 16_384
const READY_LIMIT_MS = 30_000

type SlotRange = [first: number, last: number, master: [host: string, port: number]]

/** A Redis cluster. The masters at the start come first, then their replicas, in the same order. */
export class RedisClusterServers implements AsyncDisposable {
  readonly nodes: readonly RedisProcess[]

  /** Use `startRedisCluster`. */
  constructor(nodes: readonly RedisProcess[]) {
    this.nodes = nodes
  }

  /** The node that serves a slot now, by what the other nodes say. */
  async masterOf(slot: number): Promise<RedisProcess> {
    for (const { admin, running } of this.nodes) {
      if (!running) continue
      // `[[first slot, last slot, [host, port, id, …], …replicas], …]`
      const ranges = (await admin.call('CLUSTER', 'SLOTS')) as SlotRange[]
      const found = ranges.find(([first, last]) => first <= slot && slot <= last)
      const node = this.nodes.find(({ port }) => port === found?.[2][1])
      if (node !== undefined) return node
    }
    throw new Error(`no node of the Redis cluster serves slot ${slot}`)
  }

  /** A new client. The caller disconnects it. */
  connect(): Cluster {
    const startup = this.nodes.map(({ host, port }) => ({ host, port }))
    const cluster = new Cluster(startup)
    cluster.on('error', () => {})
    return cluster
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

export interface RedisClusterOptions {
  /** Number of masters. @unit masters @range 3 or more @default 3 */
  readonly size?: number | undefined
  /** Replicas of each master. @range 0 or more @default 0: a master that dies is missed until it is started again */
  readonly replicas?: number | undefined
  /** A node that is silent for so long is taken for dead. @range 1 or more @default 2_000 */
  readonly nodeTimeoutMs?: number | undefined
}

/** Starts masters that share the slots evenly, and their replicas. Takes about 2 s, with replicas 4 s. */
export async function startRedisCluster(
  options: RedisClusterOptions = {},
): Promise<RedisClusterServers> {
  const { size = 3, replicas = 0, nodeTimeoutMs = 2_000 } = options
  const killAtExit = new KillAtExit()
  const args = [
    '--cluster-enabled yes',
    `--cluster-node-timeout ${nodeTimeoutMs}`,
    '--cluster-announce-ip 127.0.0.1',
    '--repl-diskless-sync-delay 0',
  ].flatMap((argument) => argument.split(' '))
  const nodes = await Promise.all(
    Array.from({ length: size * (1 + replicas) }, () => startRedisProcess({ args, killAtExit })),
  )
  const cluster = new RedisClusterServers(nodes)
  try {
    const masters = nodes.slice(0, size)
    await shareSlots(masters)
    const [first, ...others] = nodes
    for (const { port } of others) await first?.admin.call('CLUSTER', 'MEET', '127.0.0.1', port)
    const known = `cluster_known_nodes:${nodes.length}`
    for (const node of nodes) await untilSays(node, ['CLUSTER', 'INFO'], known)
    for (const [index, replica] of nodes.slice(size).entries()) {
      const master = await masters[index % size]?.admin.call('CLUSTER', 'MYID')
      await replica.admin.call('CLUSTER', 'REPLICATE', String(master))
    }
    for (const replica of nodes.slice(size)) {
      await untilSays(replica, ['INFO', 'replication'], 'master_link_status:up')
    }
    for (const node of nodes) await untilSays(node, ['CLUSTER', 'INFO'], 'cluster_state:ok')
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

async function shareSlots(masters: readonly RedisProcess[]): Promise<void> {
  const perNode = Math.ceil(SLOTS / masters.length)
  for (const [index, { admin }] of masters.entries()) {
    const last = Math.min((index + 1) * perNode, SLOTS) - 1
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', index * perNode, last)
    // A node that has an epoch keeps it: an answer was lost and the command sent again, or a node met another one by itself.
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1).catch((error: unknown) => {
      if (!String(error).includes('already non-zero')) throw error
    })
  }
}

async function untilSays(
  { admin }: RedisProcess,
  [name, section]: readonly [string, string],
  wanted: string,
): Promise<void> {
  const limit = Date.now() + READY_LIMIT_MS
  for (;;) {
    const info = String(await admin.call(name, section))
    if (info.includes(wanted)) return
    if (Date.now() > limit) throw new Error(`the Redis cluster did not form: ${info}`)
    await sleep(20)
  }
}
