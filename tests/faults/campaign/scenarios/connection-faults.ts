import { setTimeout as sleep } from 'node:timers/promises'
import { startTcpProxy, type ProxyDirection } from '@tidemark/testing/servers'
import { machineMs } from '../../history.ts'
import { untilTaken } from '../owners.ts'
import { startRedis } from '../redis-faults.ts'
import type { StagedScenario } from '../scenario.ts'

const CUTS = 10
const CUT_PAUSE_MS = 200

/** One of two hosts reaches Redis by a proxy that swallows one direction or both, silently. */
function swallowing(
  name: string,
  about: string,
  directions: readonly ProxyDirection[],
): StagedScenario {
  return {
    name,
    about,
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
      proxy.block(...directions)
      const takenMs = await untilTaken([other], held)
      const fencedMs = await cutOff.until('fenced', sinceMs)
      const swallowed = proxy.droppedBytes
      proxy.unblock()
      await stage.untilAtWork()
      return {
        faults: 1,
        signs: { 'bytes swallowed': swallowed, 'leases taken': held.size },
        figures: `stopped by itself after ${Math.round(fencedMs - sinceMs)} ms, taken over after ${Math.round(takenMs - sinceMs)} ms`,
      }
    },
  }
}

export const halfOpen: StagedScenario = swallowing(
  'half-open',
  'a connection to Redis that swallows both directions and stays open',
  ['toServer', 'toClient'],
)
export const cutToRedis: StagedScenario = swallowing(
  'cut-to-redis',
  'what a host sends to Redis is swallowed, answers would come',
  ['toServer'],
)
export const cutFromRedis: StagedScenario = swallowing(
  'cut-from-redis',
  'what Redis answers a host is swallowed: it does what nobody hears of',
  ['toClient'],
)

export const resets: StagedScenario = {
  name: 'resets',
  about: 'all connections to Redis are reset again and again: no lease moves',
  async act(stage) {
    const { redis } = await startRedis(stage)
    const proxy = stage.use(await startTcpProxy(redis))
    await stage.startAll(['a', 'b'], { kind: 'server', port: proxy.port }, { expirationMs: 8_000 })
    const owners = stage.owners()
    const sinceMs = machineMs()
    const before = await connectionsMade(redis.admin)
    for (let count = 0; count < CUTS; count++) {
      proxy.cut()
      await sleep(CUT_PAUSE_MS)
    }
    const made = (await connectionsMade(redis.admin)) - before
    stage.expectOwners(owners, sinceMs)
    return { faults: CUTS, signs: { 'connections made anew': made } }
  },
}

async function connectionsMade(admin: { info(section: string): Promise<string> }): Promise<number> {
  return Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1])
}
