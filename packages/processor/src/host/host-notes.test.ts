import {
  encodeContinuation,
  feedRangeId,
  FULL_RANGE,
  lsn,
  type HeldLease,
  type HostNote,
} from '@tidemark/contracts'
import { SimulatedClock } from '@tidemark/testing'
import { beforeEach, expect, test } from 'vitest'
import type { PumpNotice } from '../feed-processing/pump-events.ts'
import { HostNotes } from './host-notes.ts'

const HELD: HeldLease = { leaseId: feedRangeId(FULL_RANGE), epoch: 1 }
const CHECKPOINT = {
  lsn: lsn(1),
  continuation: encodeContinuation({
    collectionRid: 'c1',
    mode: 'latestVersion',
    positions: [{ range: FULL_RANGE, epoch: 1, lsn: lsn(1), purgeStamp: undefined }],
  }),
}
const BATCH_READ: PumpNotice = { kind: 'batchRead', changes: 1, lsn: lsn(9) }
const RANGE_HALTED: PumpNotice = {
  kind: 'rangeHalted',
  range: FULL_RANGE,
  lsn: lsn(7),
  attempts: 3,
  error: new Error('poison'),
}
const HORIZON_PASSED: PumpNotice = {
  kind: 'horizonPassed',
  range: FULL_RANGE,
  lsn: lsn(7),
  horizon: lsn(9),
  action: 'halt',
  error: new Error('purged'),
}

let clock: SimulatedClock
let told: HostNote[]
let failures: number
let notes: HostNotes

beforeEach(() => {
  clock = new SimulatedClock()
  told = []
  failures = 0
  const note = async (given: HostNote): Promise<void> => {
    if (failures > 0) {
      failures -= 1
      throw new Error('away')
    }
    told.push(given)
  }
  notes = new HostNotes({ group: { note }, hostName: 'a', clock })
})

/** Of each heartbeat, how many notes it told. */
async function beats(count: number): Promise<number[]> {
  const counts: number[] = []
  for (let beat = 0; beat < count; beat += 1) {
    const before = told.length
    await clock.advance(1_000)
    notes.beat()
    await clock.advance(0)
    counts.push(told.length - before)
  }
  return counts
}

test('LE-13 a host tells its work and that it rests, then nothing until there is news', async () => {
  expect(await beats(3)).toEqual([1, 0, 0])
  notes.onPump(HELD, { kind: 'batchDone', changes: 50, lsn: lsn(9), durationMs: 4, attempt: 1 })
  expect(await beats(4)).toEqual([1, 1, 0, 0])
  expect(told.map(({ summary }) => summary.changesPerS)).toEqual([0, 16.7, 0])
})

test('PH-10 a note that fails is told again with each heartbeat until it arrives', async () => {
  notes.onLease({
    kind: 'acquired',
    held: HELD,
    range: FULL_RANGE,
    checkpoint: CHECKPOINT,
  })
  notes.onPump(HELD, {
    kind: 'observerError',
    error: new Error('x'),
    attempt: 1,
    phase: 'processChanges',
    retryInMs: 1,
  })
  failures = 3
  expect(await beats(3)).toEqual([0, 0, 0])
  notes.onLease({ kind: 'released', held: HELD, reason: 'shutdown' })
  expect(await beats(1)).toEqual([1])
  expect(told[0]).toMatchObject({
    summary: { errors: 1, lastError: { message: 'x' } },
    transitions: [{ kind: 'acquired' }, { kind: 'released', reason: 'shutdown' }],
  })
  // Without transitions, too.
  notes.onPump(HELD, {
    kind: 'observerError',
    error: new Error('y'),
    attempt: 1,
    phase: 'processChanges',
    retryInMs: 1,
  })
  failures = 3
  expect(await beats(6)).toEqual([0, 0, 0, 1, 1, 0])
  expect(told.at(-1)).toMatchObject({ summary: { errors: 2 }, transitions: [] })
})

test('PH-10 of a store that is away, the last 2,000 transitions wait, in their order', async () => {
  const release = (epoch: number): void =>
    notes.onLease({ kind: 'released', held: { ...HELD, epoch }, reason: 'shutdown' })
  failures = 2
  for (let epoch = 1; epoch <= 1_600; epoch += 1) release(epoch)
  notes.beat()
  for (let epoch = 1_601; epoch <= 2_400; epoch += 1) release(epoch)
  expect(await beats(2)).toEqual([0, 1])
  for (let epoch = 2_401; epoch <= 4_800; epoch += 1) release(epoch)
  expect(await beats(1)).toEqual([1])
  const range = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index)
  expect(told.map(({ transitions }) => transitions.map(({ epoch }) => epoch))).toEqual([
    range(401, 2_400),
    range(2_801, 4_800),
  ])
})

test('PH-7 a halted range is told as such until its lease is given up, whatever else is read', async () => {
  await beats(2)
  notes.onPump(HELD, RANGE_HALTED)
  notes.onPump(HELD, BATCH_READ)
  expect(await beats(3)).toEqual([1, 1, 0])
  expect(told.at(-1)?.summary.halted).toEqual([HELD.leaseId])
  notes.onLease({ kind: 'released', held: HELD, reason: 'shutdown' })
  await beats(1)
  expect(told.at(-1)?.summary.halted).toEqual([])
})

test('TTL-15 a range behind a horizon is news once, and told as halted until it is read again', async () => {
  await beats(2)
  notes.onPump(HELD, HORIZON_PASSED)
  expect(await beats(3)).toEqual([1, 1, 0])
  notes.onPump(HELD, HORIZON_PASSED)
  expect(await beats(1)).toEqual([0])
  expect(told.at(-1)?.summary.halted).toEqual([HELD.leaseId])
  notes.onPump(HELD, BATCH_READ)
  await beats(1)
  expect(told.at(-1)?.summary.halted).toEqual([])
})

test('PH-10 a summary is at most 1 KB, whatever an error says and however many ranges are halted', async () => {
  const error = Object.assign(new Error(`${'a'.repeat(199)}😀`), { code: 'C'.repeat(5_000) })
  notes.onPump(HELD, {
    kind: 'observerError',
    error,
    attempt: 1,
    phase: 'processChanges',
    retryInMs: 1,
  })
  for (let n = 0; n < 500; n += 1) notes.onPump({ leaseId: `lease-${n}`, epoch: 1 }, RANGE_HALTED)
  await beats(1)
  const text = JSON.stringify(told[0]?.summary)
  expect(new TextEncoder().encode(text).length).toBeLessThanOrEqual(1_024)
  expect(told[0]?.summary.lastError?.message.isWellFormed()).toBe(true)
  expect(told[0]?.summary.halted.length).toBeGreaterThan(20)
})

test('PH-10 a host that stops tells what became of its leases, and waits half a second at most', async () => {
  notes.onLease({ kind: 'released', held: HELD, reason: 'shutdown' })
  await notes.stop()
  expect(told.at(-1)?.transitions).toMatchObject([{ kind: 'released' }])
  const silent = new HostNotes({
    group: { note: () => new Promise(() => undefined) },
    hostName: 'a',
    clock,
  })
  silent.onLease({ kind: 'released', held: HELD, reason: 'shutdown' })
  let isOver = false
  const stopped = silent.stop().then(() => (isOver = true))
  await clock.advance(499)
  expect(isOver).toBe(false)
  await clock.advance(1)
  await stopped
})
