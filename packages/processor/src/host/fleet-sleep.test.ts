import { expect, test } from 'vitest'
import { Fleet } from '@tidemark/testing'

test('I6 short sleeps of the machine that its monotonic clock does not show are added up: before they exceed the margin the host looks after its session', async () => {
  const fleet = new Fleet({ ranges: 2, feedOptions: { startFromBeginning: true } })
  const a = await fleet.start('a')
  await fleet.until(() => fleet.isBalanced())
  // Of 8 s a tenth is the margin. Each of these is less.
  a.clock.jumpWall(500)
  fleet.feed.append('key1')
  await fleet.until(() => fleet.deliveries.length === 1)
  a.clock.jumpWall(500)
  a.store.link = 'down'
  fleet.feed.append('key2')
  await fleet.advance(100)
  expect(fleet.deliveries).toHaveLength(1)
  a.store.link = 'up'
  await fleet.until(() => fleet.isDrained(), 2_000)
  expect(fleet.eventsOf(a, 'fenced')).toEqual([])
  await fleet.end()
})
