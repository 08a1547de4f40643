import { expect, test } from 'vitest'
import { Fleet, type FleetHost } from '@tidemark/testing'
import { MemoryLeaseStore } from '../lease-stores/memory-lease-store.ts'

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

test('I6 PH-7 after a sleep while a try was being stored, the host looks after its session before it calls', async () => {
  let a: FleetHost | undefined
  const seen: string[] = []
  const fleet = new Fleet({
    ranges: 1,
    feedOptions: { startFromBeginning: true },
    hostOptions: { failurePolicy: { mode: 'haltRange', maxAttempts: 2 } },
    behaviour: () => void seen.push('call'),
    leases: (clock) =>
      new MemoryLeaseStore({
        clock,
        hooks: {
          before: ({ operation }) => void (operation === 'sync' && seen.push('sync')),
          after: ({ operation }) => {
            if (operation !== 'checkpoint' || seen.includes('sleep')) return
            seen.push('sleep')
            a!.clock.jumpWall(20_000)
          },
        },
      }),
  })
  a = await fleet.start('a')
  await fleet.until(() => fleet.isBalanced())
  fleet.feed.append('key1')
  await fleet.until(() => fleet.isDrained())
  expect(seen.slice(seen.indexOf('sleep')).slice(0, 3)).toEqual(['sleep', 'sync', 'call'])
  await fleet.end()
})
