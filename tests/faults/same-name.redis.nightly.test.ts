import { expect, test } from 'vitest'
import { FaultStage, openLeases, untilShared } from './fault-stage.ts'
import { FAULT_TIMES } from './host-process.ts'
import { PacedWriter } from './paced-writer.ts'
import { until } from './until.ts'

const RANGES = 8

test('LE-11 a second process of the same host name takes over cleanly and the first is fenced', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES })
  const first = await stage.start('worker', { label: 'first', checkpointInObserver: true })
  await untilShared([first], RANGES)
  const writer = new PacedWriter(stage.store, 300)
  await until(() => first.entries('dispatch').length > 10, {
    what: 'the first processes',
  })

  const second = await stage.start('worker', { label: 'second', checkpointInObserver: true })
  await untilShared([second], RANGES)
  const takenAt = Math.max(...second.entries('open').map(({ atMs }) => atMs))
  await until(() => openLeases(first).size === 0, {
    what: 'the first has closed all its observers',
  })
  await until(() => second.entries('dispatch').length > 10, {
    what: 'the second processes',
  })
  const written = await writer.stop()
  await stage.untilDelivered(written)

  // The first learned of it once, did nothing from then on, and never came back to take over in turn.
  const last = Math.max(...first.entries('dispatch').map(({ atMs }) => atMs))
  const fenced = first.eventsNamed('fenced')
  expect(fenced).toHaveLength(1)
  expect(last).toBeLessThan(fenced[0]?.atMs ?? 0)
  expect(first.entries('joined')).toHaveLength(1)
  expect(second.eventsNamed('fenced')).toEqual([])
  const stored = first
    .entries('checkpoint')
    .filter(({ askedAtMs, code }) => askedAtMs > takenAt && code === undefined)
  expect(stored).toEqual([])
  expect(last - takenAt).toBeLessThan(FAULT_TIMES.expirationMs)
  const epochs = new Map(first.entries('open').map(({ lease, epoch }) => [lease, epoch]))
  for (const { lease, epoch } of second.entries('open')) {
    expect(epoch).toBeGreaterThan(epochs.get(lease) ?? 0)
  }
})
