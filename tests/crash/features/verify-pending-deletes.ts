import { rangeContainsEpk, rangesOverlap } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { epkOfLane } from './feature-lane.ts'
import { RETENTION_SECONDS, WAITING_GROUP, keyOf, type FeatureDocument } from './feature-store.ts'
import type { ArchivedPage } from './feature-tasks.ts'
import { expiryName, type Ledger } from './ledger.ts'
import { readFeed } from './read-feeds.ts'

/** What was delivered to the waiting group, by expiry. */
export type Archived = ReadonlyMap<string, number>

/**
 * Every expiry has one pending delete: in the feed, or purged after its retention and after the waiting
 * group had it. And horizons lie only where that group is past.
 */
export async function verifyPendingDeletes(
  documents: Collection<FeatureDocument>,
  {
    ledger,
    archive,
  }: {
    readonly ledger: Ledger
    /** All that the waiting group noted, in its order. */
    readonly archive: readonly ArchivedPage[]
  },
): Promise<{ readonly delivered: number; readonly purged: number }> {
  const archived = verifyArchive(archive, ledger)
  const { horizons } = await documents.readExpiry()
  const feed = await readFeed(documents, { from: 'beginning' })
  const nowMs = Date.now()
  const inFeed = new Set<string>()
  for (const { lsn, lastVersion, expiredAtMs } of feed.pendingDeletes) {
    const name = expiryName({ key: keyOf(lastVersion), lsn })
    if (inFeed.has(name)) ledger.faults.push(`${name}: its pending delete is in the feed twice`)
    inFeed.add(name)
    const { version } = lastVersion
    verifyDelivery(ledger, { name, version, expiredAtMs }, 'in the feed')
  }
  let purged = 0
  for (const [name, expiry] of ledger.expiries) {
    if (inFeed.has(name)) continue
    purged++
    if (!archived.has(name)) ledger.lost.push(`${name}: purged, and the waiting group never had it`)
    if (Math.floor(expiry.sweptMs / 1000) + RETENTION_SECONDS > Math.floor(nowMs / 1000)) {
      ledger.lost.push(`${name}: purged before its retention was over`)
    }
    const epk = epkOfLane(expiry.key.slice(0, expiry.key.indexOf('/')))
    const isBelow = horizons.some(
      ({ range, lsn }) => rangeContainsEpk(range, epk) && lsn >= expiry.lsn,
    )
    if (!isBelow) ledger.faults.push(`${name}: purged, and no horizon says so`)
  }
  for (const position of await documents.positions.read(WAITING_GROUP)) {
    for (const { range, lsn } of horizons) {
      if (rangesOverlap(range, position.range) && lsn > position.lsn) {
        ledger.faults.push(`the horizon is ${lsn}, the waiting group stands at ${position.lsn}`)
      }
    }
  }
  return { delivered: archived.size, purged }
}

/** Each expiry once, and in order by key. */
function verifyArchive(archive: readonly ArchivedPage[], ledger: Ledger): Archived {
  const archived = new Map<string, number>()
  const newest = new Map<string, number>()
  for (const { key, lsn, version, expiredAtMs } of archive.flatMap((page) => page.pendingDeletes)) {
    const name = expiryName({ key, lsn })
    if (archived.has(name)) ledger.faults.push(`${name}: delivered twice within one group`)
    if (lsn <= (newest.get(key) ?? 0)) {
      ledger.faults.push(`${name}: delivered after LSN ${newest.get(key)}`)
    }
    newest.set(key, lsn)
    archived.set(name, expiredAtMs)
    verifyDelivery(ledger, { name, version, expiredAtMs }, 'delivered')
  }
  return archived
}

function verifyDelivery(
  { expiries, faults }: Ledger,
  {
    name,
    version,
    expiredAtMs,
  }: { readonly name: string; readonly version: string; readonly expiredAtMs: number },
  how: string,
): void {
  const expiry = expiries.get(name)
  if (expiry === undefined) faults.push(`${name}: a pending delete is ${how}, nothing expired`)
  else if (expiry.version !== version) {
    faults.push(`${name}: ${version} is ${how}, ${expiry.version} expired`)
  } else if (expiredAtMs > expiry.sweptMs) {
    faults.push(`${name}: expired at ${expiredAtMs}, swept at ${expiry.sweptMs}`)
  }
}
