import { SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { MessageWatch } from './message-watch.ts'

test('without notifications a watcher is told now and then, and there is no timer otherwise', async () => {
  const clock = new SimulatedClock()
  let hears = true
  const watch = new MessageWatch({ clock, hears: () => hears, pollIntervalMs: 1_000 })
  const told: (readonly number[] | undefined)[] = []
  const end = watch.add((entities) => told.push(entities))
  watch.tell([3])
  await clock.advance(10_000)
  expect(told).toEqual([[3]])
  hears = false
  watch.deafened()
  await clock.advance(2_000)
  expect(told).toEqual([[3], undefined, undefined])
  hears = true
  await clock.advance(10_000)
  expect(told).toHaveLength(4)
  hears = false
  watch.deafened()
  end()
  await clock.advance(10_000)
  expect(told).toHaveLength(4)
  watch.add((entities) => told.push(entities))
  await clock.advance(1_000)
  expect(told).toHaveLength(5)
  await watch.end()
  expect(told).toHaveLength(6)
  await clock.advance(10_000)
  expect(told).toHaveLength(6)
})
