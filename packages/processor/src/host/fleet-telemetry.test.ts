import type { Telemetry, TelemetryCall } from '@tidemark/contracts'
import { beforeEach, expect, test } from 'vitest'
import { fleetsWith } from './fleets.fixture.ts'

let observed: (TelemetryCall & { readonly failed: boolean })[]
const telemetry: Telemetry = {
  observe: async (call, act) => {
    let failed = true
    try {
      const result = await act(() => {})
      failed = false
      return result
    } finally {
      observed.push({ ...call, failed })
    }
  },
  messageProperties: () => undefined,
}

const newFleet = fleetsWith({ ranges: 2, telemetry })
/** Batches of one key each are not in feed order. */
const newFleetWithLanes = fleetsWith(
  { ranges: 2, telemetry, hostOptions: { maxConcurrentKeys: 4 } },
  () => {},
)

beforeEach(() => {
  observed = []
})

test('PH-10 each call of an observer is made in a span: with its changes, its group and its lease', async () => {
  let attempts = 0
  const fleet = newFleet({
    behaviour: () => {
      attempts += 1
      if (attempts === 1) throw new Error('not yet')
    },
  })
  await fleet.start('a')
  for (let n = 0; n < 40; n += 1) fleet.feed.append(`key-${n}`)
  await fleet.until(() => fleet.isDrained())
  const calls = fleet.deliveries.map(({ leaseId, changes, outcome }) => ({
    type: 'process',
    name: 'process',
    destination: fleet.feed.description,
    group: 'group',
    client: 'a',
    partition: leaseId,
    count: changes.length,
    failed: outcome !== 'done',
  }))
  expect(calls.filter(({ failed }) => failed)).toHaveLength(1)
  expect(observed.toSorted(byPartition)).toMatchObject(calls.toSorted(byPartition))
  for (const { items, count } of observed) expect(items).toHaveLength(count)
})

test('PH-8 with lanes, too', async () => {
  const fleet = newFleetWithLanes()
  await fleet.start('a')
  for (let n = 0; n < 40; n += 1) fleet.feed.append(`key-${n % 7}`)
  await fleet.until(() => fleet.isDrained())
  expect(observed).toHaveLength(fleet.deliveries.length)
  expect(observed.reduce((sum, { count }) => sum + count, 0)).toBe(40)
})

const AWAY = new Error('the collector is away')
const messageProperties = (): undefined => undefined

test.each<[string, Telemetry['observe']]>([
  [
    'throws',
    () => {
      throw AWAY
    },
  ],
  ['rejects', () => Promise.reject(AWAY)],
  [
    'fails when the call is over',
    async (_, act) => {
      await act(() => {})
      throw AWAY
    },
  ],
  [
    'keeps errors to itself',
    async (_, act) => {
      await act(() => {}).catch(() => {})
      return undefined as never
    },
  ],
  [
    'calls twice',
    async (_, act) => {
      await act(() => {})
      return act(() => {})
    },
  ],
  ['does not call', async () => undefined as never],
  [
    'does not wait',
    async (_, act) => {
      act(() => {}).catch(() => {})
      return undefined as never
    },
  ],
])('PH-10 a telemetry that %s changes nothing for observers', async (_, observe) => {
  let attempts = 0
  const fleet = newFleet({
    telemetry: { observe, messageProperties },
    behaviour: async () => {
      await Promise.resolve()
      attempts += 1
      if (attempts === 1) throw new Error('not yet')
    },
  })
  const a = await fleet.start('a')
  for (let n = 0; n < 40; n += 1) fleet.feed.append(`key-${n}`)
  await fleet.until(() => fleet.isDrained())
  expect(fleet.eventsOf(a, 'observerError')).toMatchObject([{ error: { message: 'not yet' } }])
  const accepted = fleet.deliveries.filter(({ outcome }) => outcome === 'done')
  expect(accepted.flatMap(({ changes }) => changes)).toHaveLength(40)
  expect(fleet.deliveries.length - accepted.length).toBe(1)
})

function byPartition(
  a: Pick<TelemetryCall, 'partition'>,
  b: Pick<TelemetryCall, 'partition'>,
): number {
  return (a.partition ?? '') < (b.partition ?? '') ? -1 : 1
}
