import { expect } from 'vitest'
import type { FaultProcess, FaultProcessTask } from '../fault-process.ts'
import type { ExpiringStore } from './expiring-store.ts'
import type { ExpiryStage } from './expiry-stage.ts'
import { POLLED_KEY, type Sighting } from './expiry-tasks.ts'

const TTLS = [3, 4, 4, 5]
const IDS = TTLS.map((_, index) => `d${index}`)
/** Until some time after the last expires, and on a busy machine until all has been seen. */
const POLL = { ids: IDS, forMs: 7_000, maxMs: 60_000 }
/** Often, so that the skewed process learns soon what the sweeper judged. */
const SWEEPING = { intervalMs: 20, leaseMs: 1_000 }

/** The documents, with the instants at which they expire, epoch ms. */
async function createAll({ documents }: ExpiringStore): Promise<ReadonlyMap<string, number>> {
  const expiries = new Map<string, number>()
  for (const [index, ttl] of TTLS.entries()) {
    const { document } = await documents.create({ id: `d${index}`, key: POLLED_KEY, ttl })
    expiries.set(document.id, (document._ts + ttl) * 1000)
  }
  return expiries
}

async function sightings(
  poller: FaultProcess<FaultProcessTask>,
): Promise<ReadonlyMap<string, Sighting>> {
  await poller.finished()
  const found = poller.history.flatMap((entry) =>
    entry.kind === 'event' && entry.name === 'sighting'
      ? [JSON.parse(entry.detail) as Sighting]
      : [],
  )
  return new Map(found.map((sighting) => [sighting.id, sighting]))
}

/** A document is gone at one instant for two processes, swept or not, whatever their own clocks say. */
export async function goneAtOneInstant(
  stage: ExpiryStage,
  clockOffsetsMs: readonly [number, number] = [0, 0],
): Promise<void> {
  await using opened = await stage.openStore()
  const pollers = await Promise.all([
    stage.start('expiry/poller.child.ts', { ...POLL, clockOffsetMs: clockOffsetsMs[0] }),
    stage.start('expiry/poller.child.ts', {
      ...POLL,
      clockOffsetMs: clockOffsetsMs[1],
      maintenance: SWEEPING,
    }),
  ])
  const expiries = await createAll(opened)
  const [left, right] = await Promise.all(pollers.map((poller) => sightings(poller)))
  for (const [id, expiresMs] of expiries) {
    const [a, b] = [left?.get(id), right?.get(id)]
    // Both saw it before and after, else nothing was shown.
    expect(a?.lastSeenMs, id).toBeGreaterThan(0)
    expect(b?.lastSeenMs, id).toBeGreaterThan(0)
    expect(a?.lastSeenMs, id).toBeLessThanOrEqual(b?.firstGoneMs ?? 0)
    expect(b?.lastSeenMs, id).toBeLessThanOrEqual(a?.firstGoneMs ?? 0)
    for (const seen of [a, b]) {
      expect(seen?.lastSeenStoreMs, id).toBeLessThan(expiresMs)
      expect(seen?.firstGoneStoreMs, id).toBeGreaterThanOrEqual(expiresMs)
    }
    // Nor does it come back within one process.
    expect(a?.lastSeenMs, id).toBeLessThanOrEqual(a?.firstGoneMs ?? 0)
    expect(b?.lastSeenMs, id).toBeLessThanOrEqual(b?.firstGoneMs ?? 0)
  }
}

/** What the sweeper judged expired stays so in a process whose clock is 5 s behind. */
export async function staysGone(stage: ExpiryStage): Promise<void> {
  await using opened = await stage.openStore()
  const pollers = await Promise.all([
    stage.start('expiry/poller.child.ts', { ...POLL, maintenance: SWEEPING }),
    stage.start('expiry/poller.child.ts', { ...POLL, clockOffsetMs: -5_000 }),
  ])
  const expiries = await createAll(opened)
  const [sweeper, behind] = await Promise.all(pollers.map((poller) => sightings(poller)))
  for (const [id, expiresMs] of expiries) {
    const [judged, late] = [sweeper?.get(id), behind?.get(id)]
    const sweptMs = judged?.firstSweptMs ?? 0
    expect(sweptMs, id).toBeGreaterThan(0)
    expect(late?.looks, id).toBeGreaterThan(0)
    expect(late?.firstGoneMs, id).toBeGreaterThan(0)
    // One clock for the store: what was judged has moved it, in this process, too.
    expect(late?.lastSeenStoreMs, id).toBeLessThan(expiresMs)
    expect(late?.firstGoneStoreMs, id).toBeGreaterThanOrEqual(expiresMs)
    // By its own clock it would have seen it for 5 s more.
    expect(late?.lastSeenMs, id).toBeLessThanOrEqual(sweptMs)
  }
}
