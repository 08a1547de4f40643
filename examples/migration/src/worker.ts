import { migrateCollection, openStore } from 'tidemark'
import type { City } from './city.ts'
import {
  DATABASE,
  JOB,
  LEASE_EXPIRATION_MS,
  LEASE_RENEW_MS,
  SOURCE,
  TARGET,
  planFromArgument,
} from './demo-plan.ts'
import { openLeases } from './open-leases.ts'
import { Pace } from './pace.ts'
import { tellParent } from './messages.ts'

const [, , hostName = 'worker', plan] = process.argv
const { where, redisUrl, pacePerSecond } = planFromArgument(plan)
const pace = new Pace(pacePerSecond)

await using store = await openStore(where)
const database = store.database(DATABASE)
await using leases = openLeases(database, redisUrl)

await using migration = migrateCollection<City, City>({
  job: JOB,
  hostName,
  source: database.collection<City>(SOURCE),
  target: { database, id: TARGET },
  leases: leases.store,
  // Nothing changes but the partition key, which is the target collection's.
  mapDocument: async (city) => {
    await pace.next()
    return city
  },
  maxItemCount: 500,
  hostOptions: {
    leaseExpirationIntervalMs: LEASE_EXPIRATION_MS,
    leaseRenewIntervalMs: LEASE_RENEW_MS,
    leaseAcquireIntervalMs: LEASE_RENEW_MS,
  },
  // The demo tells of the faults that it makes.
  logger: false,
  onEvent: (event) => {
    if (event.kind === 'rangeAcquired')
      tell({ kind: 'rangeAcquired', leaseId: event.leaseId, epoch: event.epoch })
    if (event.kind === 'failure')
      tell({ kind: 'failure', what: event.what, message: String(event.error) })
  },
})

await migration.start()
tell({ kind: 'ready' })
await new Promise<void>((resolve) => {
  process.once('SIGTERM', resolve)
  process.once('message', () => resolve())
  // The demo itself is gone: do not stay behind.
  process.once('disconnect', resolve)
})
// Finishes the batches in flight and hands the ranges over; then the store is closed.
await migration.stop()
if (process.connected) process.disconnect()

function tell(message: Parameters<typeof tellParent>[0]): void {
  tellParent(message).catch(() => {})
}
