import { describe, expect, test } from 'vitest'
import { errorCode, type Lease } from '@tidemark/contracts'
import type { LeaseNotice } from './lease-protocol.ts'
import {
  Driver,
  HEARTBEAT_MS,
  IDS,
  MARGIN_MS,
  TTL_MS,
  at,
  held,
  lease,
  running,
} from './lease-core-driver.fixture.ts'

type StoreLost = Extract<LeaseNotice, { kind: 'storeLost' }>

/** A beat is answered out of other data. */
function loseStore(driver: Driver): void {
  driver.answer({ op: 'sync', reply: { kind: 'fenced', generation: 'other' } })
}

function loss(driver: Driver): StoreLost | undefined {
  return driver
    .of('emit')
    .map(({ notice }) => notice)
    .find((notice) => notice.kind === 'storeLost')
}

function stood(driver: Driver): Record<string, number> {
  const entries = loss(driver)?.stood.map(({ range, lsn }): [string, number] => {
    return [`${range.minInclusive}-${range.maxExclusive}`, lsn]
  })
  return Object.fromEntries(entries ?? [])
}

function store(driver: Driver, leaseId: string, n: number, outcome: 'stored' | 'lost'): void {
  driver.tell({ kind: 'progress', held: held(leaseId), checkpoint: at(n) })
  driver.answer({ op: 'checkpoint', reply: [outcome] })
}

describe('a store that has lost its data', () => {
  test('is told of with where the leases stood, before they are lost and their pumps aborted', () => {
    const driver = running()
    store(driver, '-40', 5, 'stored')
    driver.tell({ kind: 'progress', held: held('40-80'), checkpoint: at(9) })
    driver.passTo(HEARTBEAT_MS)
    loseStore(driver)
    expect(loss(driver)).toMatchObject({ known: 'g', generation: 'other' })
    // What was not acknowledged is not stored: it comes again.
    expect(stood(driver)).toEqual({ '-40': 5, '40-80': 0, '80-C0': 0, 'C0-FF': 0 })
    const kinds = driver.of('emit').map(({ notice }) => notice.kind)
    expect(kinds.indexOf('storeLost')).toBeLessThan(kinds.indexOf('lost'))
    expect(driver.of('abortPump')).toHaveLength(IDS.length)
    expect(driver.core.mayDispatch(driver.nowMs)).toBe(false)
  })

  test('refuses checkpoints before a beat says why: where those leases stood is known all the same', () => {
    const driver = running()
    store(driver, '-40', 5, 'stored')
    store(driver, '-40', 7, 'lost')
    driver.passTo(HEARTBEAT_MS)
    loseStore(driver)
    expect(stood(driver)['-40']).toBe(5)
  })

  test('what was lost before a beat that succeeded is for its new owner to tell', () => {
    const driver = running()
    store(driver, '-40', 5, 'stored')
    store(driver, '-40', 7, 'lost')
    driver.passTo(HEARTBEAT_MS)
    driver.synced()
    driver.passTo(2 * HEARTBEAT_MS)
    loseStore(driver)
    expect(Object.keys(stood(driver))).toEqual(['40-80', '80-C0', 'C0-FF'])
  })

  test('a host that learns of it after its deadline knows nothing better than others', () => {
    const driver = running()
    store(driver, '-40', 5, 'stored')
    driver.passTo(HEARTBEAT_MS)
    // It stood still, and the answer is the first thing that it sees.
    driver.nowMs = TTL_MS - MARGIN_MS + 1
    loseStore(driver)
    expect(loss(driver)).toMatchObject({ generation: 'other' })
    expect(stood(driver)).toEqual({})
  })

  test('is noticed by the first answer of a host that knows in which data its leases were made', () => {
    const driver = new Driver({ generation: 'g' })
    driver.tell({ kind: 'start' })
    driver.synced({ generation: 'other' })
    expect(loss(driver)).toMatchObject({ known: 'g', generation: 'other' })
    expect(errorCode(driver.of('stopped')[0]?.error)).toBe('ERR_LEASES_VANISHED')
  })

  test('is not told of when nothing changed', () => {
    const driver = new Driver({ generation: 'g' })
    driver.tell({ kind: 'start' })
    driver.synced()
    driver.read(IDS.map((id) => lease(id)))
    expect(loss(driver)).toBeUndefined()
    expect(driver.core.status).toBe('joined')
  })
})

test('LE-8 a group without leases is looked at once a beat, not all the time', () => {
  const driver = running()
  driver.tell({ kind: 'hint', hint: 'membership', jitter: 0 })
  driver.passTo(100)
  driver.read([], { membershipVersion: 2, planVersion: 1 })
  for (const id of IDS) {
    driver.tell({
      kind: 'pumpClosed',
      held: held(id),
      checkpoint: undefined,
      reason: 'leaseLost',
      replacement: undefined,
    })
  }
  let reads = 0
  while (driver.of('stopped').length === 0) {
    driver.passTo(driver.wakeAtMs)
    if (driver.pending('sync')) driver.synced({ membershipVersion: 2, planVersion: 1 })
    while (driver.pending('read')) {
      reads += 1
      expect(reads).toBeLessThan(10)
      driver.read([], { membershipVersion: 2, planVersion: 1 })
    }
  }
  expect(errorCode(driver.of('stopped')[0]?.error)).toBe('ERR_LEASES_VANISHED')
  expect(driver.nowMs).toBeLessThanOrEqual(TTL_MS + HEARTBEAT_MS)
})

test('LE-8 leases that came back and are gone once more get the whole time again', () => {
  const driver = running()
  const look = (leases: readonly Lease[]): void => {
    driver.tell({ kind: 'hint', hint: 'membership', jitter: 0 })
    driver.passTo(driver.nowMs + 100)
    driver.read(leases)
  }
  look([])
  look(IDS.map((id) => lease(id)))
  // A second deployment that discards them, long after the first.
  const laterMs = driver.nowMs + 2 * TTL_MS
  while (driver.nowMs < laterMs) {
    driver.passTo(driver.nowMs + HEARTBEAT_MS / 2)
    if (driver.pending('sync')) driver.synced()
    if (driver.pending('read')) driver.read(IDS.map((id) => lease(id)))
  }
  look([])
  expect(driver.of('stopped')).toEqual([])
  expect(driver.core.status).toBe('joined')
})
