import {
  LeaseStoreUnavailableError,
  RangeGoneError,
  StoreClosedError,
  errorCode,
} from '@tidemark/contracts'
import { Fleet, type FleetOptions } from '@tidemark/testing'
import { afterEach, expect, test } from 'vitest'
import { ChangeFeedEstimator } from './change-feed-estimator.ts'
import type { FeedEstimate } from './feed-estimate.ts'
import { WatchedGroup } from './watched-group.fixture.ts'

const fleets: Fleet[] = []
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.end()
})

function startFleet(options: FleetOptions = {}): {
  readonly fleet: Fleet
  readonly estimator: ChangeFeedEstimator
} {
  const fleet = new Fleet({
    ranges: 4,
    feedOptions: { startFromBeginning: true, maxItemCount: 2 },
    ...options,
  })
  fleets.push(fleet)
  const { feed, leases, clock } = fleet
  const estimator = new ChangeFeedEstimator({ feed, leases, clock, group: 'group' })
  return { fleet, estimator }
}

function write(fleet: Fleet, changes: number): void {
  for (let n = 0; n < changes; n += 1) fleet.feed.append(`key-${n % 20}`)
}

/** What it has come to, without waiting for it. */
function followed<R>(work: Promise<R>): { readonly outcome: () => R | string | undefined } {
  let outcome: R | string | undefined
  work.then(
    (value) => (outcome = value),
    (error: unknown) => (outcome = errorCode(error) ?? String(error)),
  )
  return { outcome: () => outcome }
}

test('PH-9 it resolves once all that was there at the call is done, however much comes after it', async () => {
  const pace = Promise.withResolvers<void>()
  const { fleet, estimator } = startFleet({ behaviour: () => pace.promise })
  write(fleet, 40)
  const wanted = fleet.feed.changes.map(({ id }) => id)
  await fleet.start('a')
  await fleet.start('b')
  const waiting = followed(estimator.untilCaughtUp())
  await fleet.advance(5_000)
  expect(waiting.outcome()).toBeUndefined()
  const isDone = (ids: readonly string[]): boolean => {
    const done = fleet.deliveries.filter(({ outcome }) => outcome === 'done')
    const seen = new Set(done.flatMap(({ changes }) => changes.map(({ id }) => id)))
    return ids.every((id) => seen.has(id))
  }
  // A writer that never rests, and observers that only just keep up.
  const writing = writingOn(fleet, () => write(fleet, 4))
  pace.resolve()
  fleet.behaviour = () => fleet.clock.sleep(5, new AbortController().signal)
  await fleet.until(() => waiting.outcome() !== undefined)
  writing.stop()
  expect(isDone(wanted)).toBe(true)
  expect((waiting.outcome() as FeedEstimate).leases).toHaveLength(4)
})

test('PH-9 ST-9 ranges may be split and merged meanwhile', async () => {
  const { fleet, estimator } = startFleet({ ranges: 2 })
  const hold = Promise.withResolvers<void>()
  fleet.behaviour = () => hold.promise
  write(fleet, 40)
  await fleet.start('a')
  const waiting = followed(estimator.untilCaughtUp())
  await fleet.advance(500)
  fleet.feed.split(fleet.feed.ranges[0]!)
  fleet.feed.merge(fleet.feed.ranges[1]!)
  write(fleet, 40)
  await fleet.advance(500)
  expect(waiting.outcome()).toBeUndefined()
  hold.resolve()
  await fleet.until(() => waiting.outcome() !== undefined)
  expect(waiting.outcome()).toMatchObject({ group: 'group' })
})

test('PH-9 when time is up it says who keeps it', async () => {
  const { fleet, estimator } = startFleet({ ranges: 2 })
  write(fleet, 20)
  fleet.behaviour = () => Promise.reject(new Error('never'))
  await fleet.start('a')
  await fleet.until(() => fleet.deliveries.length > 1)
  const work = estimator.untilCaughtUp({ timeoutMs: 20_000 })
  await expect(fleet.run(work)).rejects.toMatchObject({
    code: 'ERR_NOT_CAUGHT_UP',
    retryable: true,
    message: expect.stringMatching(
      /^group group has .* 20000 ms: 2 leases are behind, .* of a, at LSN 0 of \d+$/,
    ),
  })
})

test('PH-9 a group without leases, or stores that do not answer, keep it waiting', async () => {
  const watched = new WatchedGroup({ ranges: 2 })
  const none = followed(watched.estimator.untilCaughtUp({ timeoutMs: 3_000 }))
  await watched.clock.advance(2_900)
  expect(none.outcome()).toBeUndefined()
  await watched.clock.advance(200)
  expect(none.outcome()).toBe('ERR_NOT_CAUGHT_UP')

  await watched.makeLeases('now')
  for (const failing of ['read', 'measureLag', 'readFeedRanges', 'resolveStart']) {
    watched.calls.length = 0
    watched.before = (call) => {
      if (call === failing) throw new LeaseStoreUnavailableError(`${call} fails`)
    }
    const waiting = followed(watched.estimator.untilCaughtUp())
    await watched.clock.advance(3_000)
    expect(waiting.outcome()).toBeUndefined()
    expect(watched.calls.filter((call) => call === failing).length).toBeGreaterThan(3)
    watched.before = () => {}
    await watched.clock.advance(1_000)
    expect(waiting.outcome()).toMatchObject({ caughtUp: true })
  }
  // One that hangs, and heeds no signal.
  watched.before = (call) => (call === 'read' ? new Promise(() => {}) : undefined)
  const hanging = followed(watched.estimator.untilCaughtUp({ timeoutMs: 1_000 }))
  await watched.clock.advance(1_100)
  expect(hanging.outcome()).toBe('ERR_NOT_CAUGHT_UP')
})

test('PH-9 ST-9 a range that is gone at each look keeps it waiting, although nobody may retry that call', async () => {
  const watched = new WatchedGroup({ ranges: 2 })
  await watched.makeLeases('now')
  for (const failing of ['measureLag', 'readFeedRanges', 'resolveStart']) {
    watched.before = (call) => {
      if (call === failing) throw new RangeGoneError('0', [])
    }
    const waiting = followed(watched.estimator.untilCaughtUp())
    await watched.clock.advance(3_000)
    expect(waiting.outcome(), failing).toBeUndefined()
    watched.before = () => {}
    await watched.clock.advance(1_000)
    expect(waiting.outcome()).toMatchObject({ caughtUp: true })
  }
})

test('PH-9 what fails for good ends it, and so does the signal', async () => {
  const watched = new WatchedGroup({ ranges: 2 })
  await watched.makeLeases()
  watched.feed.append('key')
  const abort = new AbortController()
  const waiting = followed(watched.estimator.untilCaughtUp({ signal: abort.signal }))
  await watched.clock.advance(1_000)
  abort.abort('enough')
  await watched.clock.advance(1)
  expect(waiting.outcome()).toBe('enough')
  expect(watched.clock.sleeping).toBe(0)

  watched.before = (call) => {
    if (call === 'measureLag') throw new StoreClosedError('closed')
  }
  const failing = followed(watched.estimator.untilCaughtUp({ timeoutMs: 60_000 }))
  await watched.clock.advance(10)
  expect(failing.outcome()).toBe('ERR_STORE_CLOSED')
  expect(watched.clock.sleeping).toBe(0)
})

function writingOn(fleet: Fleet, act: () => void): { stop(): void } {
  const abort = new AbortController()
  const run = async (): Promise<void> => {
    for (;;) {
      act()
      await fleet.clock.sleep(20, abort.signal)
    }
  }
  run().catch(() => {})
  return { stop: () => abort.abort() }
}
