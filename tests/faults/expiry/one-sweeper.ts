import { setTimeout as sleep } from 'node:timers/promises'
import type { Collection } from '@tidemark/store'
import { expect } from 'vitest'
import type { FaultProcess, FaultProcessTask } from '../fault-process.ts'
import { entriesOf, machineMs, type HistoryEntryOf } from '../history.ts'
import { until } from '../until.ts'
import type { ExpiringDocument } from './expiring-store.ts'
import type { ExpiryStage } from './expiry-stage.ts'
import { writeExpiring } from './write-expiring.ts'

type Sweeper = FaultProcess<FaultProcessTask>

// Pieces, and who may do them, are told by the events of each process.
const LEASE_MS = 1_500
const SWEEPING = { intervalMs: 50, leaseMs: LEASE_MS, maxItems: 200 }
const PIECES = ['swept', 'purged']

function sweptBy(...sweepers: readonly Sweeper[]): number {
  return eventsOf(sweepers, ['swept']).reduce((sum, { detail }) => {
    const { documents } = JSON.parse(detail) as { readonly documents: number }
    return sum + documents
  }, 0)
}

function eventsOf(
  sweepers: readonly Sweeper[],
  names: readonly string[],
): readonly HistoryEntryOf<'event'>[] {
  return sweepers
    .flatMap(({ history }) => entriesOf(history, 'event'))
    .filter(({ name }) => names.includes(name))
    .toSorted((a, b) => a.atMs - b.atMs)
}

/** Pieces of one process between two pieces of another one that never gave the work up in between. */
function interleaved(sweepers: readonly Sweeper[]): readonly string[] {
  const faults: string[] = []
  for (const sweeper of sweepers) {
    const others = sweepers.filter((other) => other !== sweeper)
    const pieces = eventsOf(others, PIECES)
    let lastMs: number | undefined
    for (const { name, atMs } of eventsOf([sweeper], [...PIECES, 'maintenanceEnded'])) {
      const since = lastMs
      lastMs = name === 'maintenanceEnded' ? undefined : atMs
      if (since === undefined) continue
      const between = pieces.filter((piece) => piece.atMs > since && piece.atMs < atMs)
      faults.push(...between.map((piece) => `${piece.name} at ${piece.atMs} by another process`))
    }
  }
  return faults
}

/** Of two processes one sweeps at a time, and the other takes over when it is closed. */
export async function oneSweepsAtATime(stage: ExpiryStage): Promise<void> {
  await using opened = await stage.openStore()
  const sweepers: Sweeper[] = await Promise.all([
    stage.start('expiry/sweeper.child.ts', { maintenance: SWEEPING }),
    stage.start('expiry/sweeper.child.ts', { maintenance: SWEEPING }),
  ])
  let written = 0
  for (let round = 0; round < 3; round++) {
    const count = 400
    for (let index = 0; index < count; index++) {
      await opened.documents.create({ id: `r${round}-${index}`, key: `k${index % 50}`, ttl: 1 })
    }
    written += count
    await until(() => sweptBy(...sweepers) === written, {
      what: `${written} documents swept`,
    })
    const holder = sweepers.find((sweeper) => holds(sweeper))
    await holder?.terminate()
    sweepers.push(await stage.start('expiry/sweeper.child.ts', { maintenance: SWEEPING }))
  }
  expect(interleaved(sweepers)).toEqual([])
  expect(sweepers.filter((sweeper) => sweptBy(sweeper) > 0).length).toBeGreaterThan(1)
  expect(eventsOf(sweepers, ['maintenanceFailed'])).toEqual([])
}

function holds(sweeper: Sweeper): boolean {
  const last = eventsOf([sweeper], ['maintenanceStarted', 'maintenanceEnded']).at(-1)
  return last?.name === 'maintenanceStarted'
}

/** When the sweeper is killed amid a backlog, another goes on within the lease time; each has one pending delete. */
export async function anotherSweepsOn(stage: ExpiryStage, backlog: number): Promise<void> {
  await using opened = await stage.openStore()
  await writeExpiring(opened.documents, { count: backlog, ttl: 1 })
  await sleep(1_500)
  // It kills itself: a signal from here could come when all is swept.
  const task = { maintenance: SWEEPING, diesAfterDocuments: 1_000 }
  const victim = await stage.start('expiry/sweeper.child.ts', task)
  await until(() => sweptBy(victim) > 0, { what: 'a sweep' })
  const heir = await stage.start('expiry/sweeper.child.ts', { maintenance: SWEEPING })
  await until(() => victim.hasEnded, { what: 'the end of the sweeper' })
  const sweptBefore = sweptBy(victim)
  // The fault hit the work: it had begun, and was not done.
  expect(sweptBefore).toBeGreaterThan(0)
  expect(sweptBefore).toBeLessThan(backlog)
  await until(() => sweptBy(heir) > 0, { what: 'another sweeper' })
  const [killedMs = 0, startedMs = 0, sweptMs = Infinity] = [
    eventsOf([victim], ['swept']).at(-1)?.atMs,
    eventsOf([heir], ['started'])[0]?.atMs,
    eventsOf([heir], ['swept'])[0]?.atMs,
  ]
  const takenMs = sweptMs - Math.max(killedMs, startedMs)
  console.log(`${sweptBefore} swept before the kill, others after ${Math.round(takenMs)} ms`)
  // Generous: the machine may be busy.
  expect(takenMs).toBeLessThan(LEASE_MS + 4_000)

  const pendingDeletes = await untilAllSwept(opened.documents, backlog)
  expect(new Set(pendingDeletes).size).toBe(backlog)
  expect(pendingDeletes).toHaveLength(backlog)
  expect(interleaved([victim, heir])).toEqual([])
  expect(await opened.store.check()).toEqual([])
}

/** Every pending delete, once nothing is left to sweep. */
async function untilAllSwept(
  documents: Collection<ExpiringDocument>,
  count: number,
): Promise<readonly string[]> {
  const endMs = machineMs() + 40_000
  while ((await documents.readExpiry()).pendingDeletes < count && machineMs() < endMs) {
    await sleep(50)
  }
  const found: string[] = []
  for await (const page of documents.changes({ from: 'beginning', follow: false })) {
    for (const { kind, partitionKey, id } of page.changes) {
      found.push(kind === 'pendingDelete' ? `${String(partitionKey)}/${id}` : `${id} is ${kind}`)
    }
  }
  return found
}
