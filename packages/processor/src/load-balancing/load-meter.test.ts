import { expect, test } from 'vitest'
import { loadKey, parseLoads } from './lease-loads.ts'
import { LoadMeter, type LeaseWork } from './load-meter.ts'

const BEAT_MS = 2_000

function work(leaseId: string, fields: Partial<LeaseWork> = {}): LeaseWork {
  return { key: `${leaseId}@1`, leaseId, busyMs: 0, changes: 0, ...fields }
}

/** Beats with a lease that is busy for so many ms a second. */
function measured(
  meter: LeaseMeterAt,
  forMs: number,
  perSecond: Partial<LeaseWork>,
): number | undefined {
  for (const untilMs = meter.nowMs + forMs; meter.nowMs < untilMs;) {
    meter.nowMs += BEAT_MS
    meter.busyMs += ((perSecond.busyMs ?? 0) * BEAT_MS) / 1_000
    meter.changes += ((perSecond.changes ?? 0) * BEAT_MS) / 1_000
    const { busyMs, changes } = meter
    meter.text = meter.meter.measure([work('a', { busyMs, changes })], meter.nowMs)
  }
  return parseLoads(meter.text).named.get(loadKey('a'))
}

interface LeaseMeterAt {
  readonly meter: LoadMeter
  nowMs: number
  busyMs: number
  changes: number
  text: string
}

function newMeter(): LeaseMeterAt {
  return { meter: new LoadMeter(), nowMs: 0, busyMs: 0, changes: 0, text: '' }
}

test('PH-14 a steady lease costs its time in the observer, as soon as it is told at all', () => {
  const meter = newMeter()
  expect(measured(meter, 12_000, { busyMs: 300 })).toBeUndefined()
  expect(measured(meter, 8_000, { busyMs: 300 })).toBeCloseTo(300, 0)
  expect(measured(meter, 300_000, { busyMs: 300 })).toBeCloseTo(300, 0)
})

test('PH-14 a change of rate is smoothed over about a minute', () => {
  const meter = newMeter()
  measured(meter, 300_000, { busyMs: 100 })
  const soon = measured(meter, 4_000, { busyMs: 900 })!
  expect(soon).toBeLessThan(200)
  expect(measured(meter, 60_000, { busyMs: 900 })).toBeGreaterThan(550)
  expect(measured(meter, 240_000, { busyMs: 900 })).toBeGreaterThan(850)
})

test('PH-14 changes cost something', () => {
  expect(measured(newMeter(), 60_000, { changes: 1_000 })).toBeCloseTo(10, 0)
})

test('PH-14 a call that fails takes nothing back, and a lease that comes again is measured again', () => {
  const meter = new LoadMeter()
  meter.measure([work('a', { busyMs: 0 })], 0)
  meter.measure([work('a', { busyMs: 10_000 })], 20_000)
  const text = meter.measure([work('a', { busyMs: 0 })], 22_000)
  expect(parseLoads(text).named.get(loadKey('a'))).toBeGreaterThan(400)
  expect(meter.measure([work('a', { key: 'a@2', busyMs: 5 })], 24_000)).toBe('-')
})
