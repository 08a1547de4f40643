import { join } from 'node:path'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { Store } from '@tidemark/store'
import { machineMs } from '../../history.ts'
import { until } from '../../until.ts'
import type { LeasePlace } from '../lease-place.ts'
import { startRedis } from '../redis-faults.ts'
import type { StagedScenario } from '../scenario.ts'
import type { CampaignStage } from '../stage.ts'

interface LeaseDocument {
  readonly id: string
  readonly partitionKey: string
  readonly kind: string
}

interface Leases extends AsyncDisposable {
  readonly place: LeasePlace
  /** Strikes one lease. Resolves with how many it struck. */
  readonly strike: () => Promise<number>
}

/** One lease of a running group is struck by hand: hosts notice, and the group goes on with all its keys. */
function damaged(
  name: string,
  about: string,
  open: (stage: CampaignStage) => Promise<Leases>,
): StagedScenario {
  return {
    name,
    about,
    async act(stage) {
      await using leases = await open(stage)
      const workers = await stage.startAll(['a', 'b'], leases.place)
      const sinceMs = machineMs()
      const struck = await leases.strike()
      const noticed = (): number =>
        workers.filter((worker) => worker.events('leasesDamaged', sinceMs).length > 0).length
      const isAtWork = (): boolean =>
        noticed() > 0 &&
        stage.isShared() &&
        workers.every((worker) => worker.entries('open').some(({ atMs }) => atMs > sinceMs))
      await until(isAtWork, { what: 'leases made anew and shared out' })
      const tookMs = machineMs() - sinceMs
      await stage.untilAtWork()
      return {
        faults: struck,
        signs: { 'leases struck': struck, 'hosts that noticed': noticed() },
        figures: `all keys have an owner again after ${Math.round(tookMs)} ms`,
      }
    },
  }
}

function inDocuments(how: 'deleted' | 'overwritten') {
  return async (stage: CampaignStage): Promise<Leases> => {
    const folder = join(stage.folder, 'leases')
    const store = await Store.open({ engine: await openSqliteEngine({ folder }) })
    const collection = store.database('leases').collection<LeaseDocument>('leases')
    return {
      place: { kind: 'documents', folder },
      async strike() {
        const { documents } = await collection.readDocuments()
        const lease = documents.find((document) => 'leaseId' in document)
        if (lease === undefined) return 0
        if (how === 'deleted') await collection.delete(lease.id, lease.partitionKey)
        else await collection.replace({ ...lease, kind: 'note' })
        return 1
      },
      [Symbol.asyncDispose]: () => store.close(),
    }
  }
}

export const leaseDocumentDeleted: StagedScenario = damaged(
  'lease-document-deleted',
  'a lease document is deleted by hand under running hosts',
  inDocuments('deleted'),
)

export const leaseDocumentOverwritten: StagedScenario = damaged(
  'lease-document-overwritten',
  'something else is written over a lease document under running hosts',
  inDocuments('overwritten'),
)

export const leaseFieldDeleted: StagedScenario = damaged(
  'lease-field-deleted',
  "a lease's field in Redis is deleted by hand under running hosts",
  async (stage) => {
    const { redis, place } = await startRedis(stage)
    return {
      place,
      async strike() {
        const [key = ''] = await redis.admin.keys('tidemark:leases:*:c')
        const [id = ''] = await redis.admin.hkeys(key)
        return redis.admin.hdel(key, id)
      },
      [Symbol.asyncDispose]: async () => {},
    }
  },
)
