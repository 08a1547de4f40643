import { describe, expect, test } from 'vitest'
import type { Change, ObserverContext } from '@tidemark/contracts'
import type { FakeDocument, Fleet, FleetHost } from '@tidemark/testing'
import type { FailurePolicyOptions } from '../feed-processing/pump-options.ts'
import { fleetsWith } from './fleets.fixture.ts'
import type { HostOptions } from './host-options.ts'

type Handler = (context: ObserverContext, change: Change<FakeDocument>) => Promise<void> | void

/** Ways to say how far an observer has come. */
type Way = 'processChange' | 'accepted' | 'threes'

const CHANGES = 60
const EVERY_WAY: readonly Way[] = ['processChange', 'accepted', 'threes']
const POISON = new Error('poison')
const never = new AbortController().signal

const newFleet = fleetsWith(
  {
    ranges: 1,
    feedOptions: { startFromBeginning: true, maxItemCount: CHANGES },
    hostOptions: { retryDelayMs: 50, retryMaxDelayMs: 400 },
    deadLetters: { put: async () => {} },
  },
  () => {},
)

function filled(hostOptions: HostOptions = {}): Fleet {
  const fleet = newFleet({
    hostOptions: { retryDelayMs: 50, retryMaxDelayMs: 400, ...hostOptions },
  })
  for (let n = 0; n < CHANGES; n += 1) fleet.feed.append('key')
  return fleet
}

/** Starts a host whose observer calls `handle` for each change, and says `way` how far it has come. */
async function start(fleet: Fleet, name: string, way: Way, handle: Handler): Promise<FleetHost> {
  const member = fleet.create(name)
  const size = way === 'threes' ? 3 : 1
  const observer =
    way === 'processChange'
      ? { processChange: handle }
      : {
          async processChanges(
            context: ObserverContext,
            changes: readonly Change<FakeDocument>[],
          ): Promise<void> {
            for (let from = 0; from < changes.length; from += size) {
              const some = changes.slice(from, from + size)
              for (const change of some) await handle(context, change)
              if (!context.accepted(some.at(-1)!)) return
            }
          },
        }
  await fleet.run(member.host.registerObserver(observer))
  return member
}

/** Notes each change that a handler has done. */
function noting(done: number[], handle: Handler = () => {}): Handler {
  return async (context, change) => {
    await handle(context, change)
    done.push(change.lsn)
  }
}

const all = Array.from({ length: CHANGES }, (_, index) => index + 1)

describe('changes that an observer has accepted', () => {
  test.each(
    (['retryForever', 'haltRange', 'deadLetter'] as const).flatMap((mode) =>
      EVERY_WAY.map((way) => ({ mode, way })),
    ),
  )('PH-15 do not come again after a failure: $mode, $way', async ({ mode, way }) => {
    const failurePolicy: FailurePolicyOptions = { mode, maxAttempts: 3 }
    const fleet = filled({ failurePolicy })
    const done: number[] = []
    const left = new Map([
      [7, 2],
      [40, 2],
    ])
    const handle: Handler = (_context, { lsn }) => {
      const times = left.get(lsn) ?? 0
      left.set(lsn, times - 1)
      if (times > 0) throw POISON
    }
    await start(fleet, 'a', way, noting(done, handle))
    await fleet.until(() => done.includes(CHANGES))
    // The two of its three that were before it, and not accepted, come with it again.
    if (way !== 'threes') expect(done).toEqual(all)
    else expect(new Set(done)).toEqual(new Set(all))
    expect(done.length).toBeLessThanOrEqual(CHANGES + (way === 'threes' ? 8 : 0))
    await fleet.end()
  })

  test('PH-15 PH-7 with processChange the failing change has its attempts alone, whichever it is', async () => {
    const fleet = filled({ failurePolicy: { mode: 'deadLetter', maxAttempts: 3 } })
    const done: number[] = []
    const attempts: (readonly number[])[] = []
    const handle: Handler = ({ attempt, fence }, { lsn }) => {
      if (![1, 30, 31, CHANGES].includes(lsn)) return
      attempts.push([fence.lsn, attempt])
      throw POISON
    }
    const { events } = await start(fleet, 'a', 'processChange', noting(done, handle))
    await fleet.until(() => events.filter(({ name }) => name === 'deadLettered').length === 4)
    expect(done).toEqual(all.filter((n) => ![1, 30, 31, CHANGES].includes(n)))
    const tried = [1, 30, 31, CHANGES].flatMap((n) => [1, 2, 3].map((attempt) => [n, attempt]))
    expect(attempts).toEqual(tried)
    await fleet.end()
  })

  test.each(EVERY_WAY)(
    'PH-15 PH-11 do not come again after a stop, which waits for no more than the change in hand: %s',
    async (way) => {
      const fleet = filled()
      const done: number[] = []
      const slow: Handler = () => fleet.clock.sleep(1_000, never)
      const a = await start(fleet, 'a', way, noting(done, slow))
      await fleet.until(() => done.length >= 10)
      const startMs = fleet.clock.monotonicMs()
      const { abortedChanges } = await fleet.run(a.host.unregisterObservers())
      expect(abortedChanges).toBe(0)
      expect(fleet.clock.monotonicMs() - startMs).toBeLessThan(4_000)
      await start(fleet, 'b', way, noting(done))
      await fleet.until(() => done.includes(CHANGES))
      expect(done).toEqual(all)
      await fleet.end()
    },
  )

  test.each(EVERY_WAY)('PH-15 LE-4 do not come again after a hand-over: %s', async (way) => {
    const fleet = newFleet({ ranges: 2 })
    const keys = Array.from({ length: CHANGES }, (_, index) => `key ${index}`)
    for (const key of keys) fleet.feed.append(key)
    const done: string[] = []
    const handle: Handler = async (_context, { id }) => {
      await fleet.clock.sleep(1_000, never)
      done.push(id)
    }
    await start(fleet, 'a', way, handle)
    await fleet.until(() => done.length >= 10)
    const startMs = fleet.clock.monotonicMs()
    await start(fleet, 'b', way, handle)
    await fleet.until(() => fleet.isBalanced())
    expect(fleet.clock.monotonicMs() - startMs).toBeLessThan(10_000)
    await fleet.until(() => new Set(done).size === CHANGES, 120_000)
    expect(done).toHaveLength(CHANGES)
    await fleet.end()
  })

  test('PH-15 PH-5 come again after a crash only as far as they were accepted in the last moment', async () => {
    const fleet = filled()
    const done: number[] = []
    let isFirst = true
    const slow: Handler = async (_context, { lsn }) => {
      if (lsn === 5 && isFirst) {
        isFirst = false
        throw POISON
      }
      // Those before it are accepted in no time: no position is stored of them before it fails.
      if (lsn >= 5) await fleet.hosts[0]!.clock.sleep(20, never)
    }
    const a = await start(fleet, 'a', 'processChange', noting(done, slow))
    await fleet.until(() => done.length >= 45)
    fleet.kill(a)
    const before = done.length
    await start(fleet, 'b', 'processChange', noting(done))
    await fleet.until(() => done.includes(CHANGES))
    expect(done.slice(0, before)).toEqual(all.slice(0, before))
    expect(done[before]).toBeGreaterThanOrEqual(before - 1)
    await fleet.end()
  })

  test('PH-15 PH-5 do not come again after a crash in the pause before the next attempt', async () => {
    const fleet = filled({ retryDelayMs: 30_000, retryMaxDelayMs: 30_000 })
    const done: number[] = []
    const failed: number[] = []
    const handle: Handler = (_context, { lsn }) => {
      if (lsn !== 50) return
      failed.push(lsn)
      throw POISON
    }
    const a = await start(fleet, 'a', 'processChange', noting(done, handle))
    await fleet.until(() => failed.length > 0)
    await fleet.advance(5_000)
    fleet.kill(a)
    await start(fleet, 'b', 'processChange', noting(done))
    await fleet.until(() => done.includes(CHANGES))
    expect(done).toEqual(all)
    await fleet.end()
  })

  test.each(['kill', 'stop'] as const)(
    'PH-15 come again with their transaction, and nothing that is before it: %s',
    async (end) => {
      const fleet = newFleet({ hostOptions: { retryDelayMs: 50, retryMaxDelayMs: 400 } })
      for (let n = 0; n < 30; n += 1) fleet.feed.append('key')
      fleet.feed.append('key', 2)
      const done: string[] = []
      let tries = 0
      const a = await start(fleet, 'a', 'processChange', (_context, { id }) => {
        if (done.length === 31) {
          tries += 1
          throw POISON
        }
        done.push(id)
      })
      await fleet.until(() => tries > 3)
      if (end === 'kill') fleet.kill(a)
      else await fleet.run(a.host.unregisterObservers())
      await start(fleet, 'b', 'processChange', (_context, { id }) => void done.push(id))
      await fleet.until(() => new Set(done).size === 32)
      expect(done.length).toBeLessThanOrEqual(33)
      await fleet.end()
    },
  )

  test.each([
    ['haltRange', 4],
    ['deadLetter', 5],
  ] as const)(
    'PH-15 PH-7 do not make a stop forget the attempts at the change behind them: %s',
    async (mode, maxAttempts) => {
      const fleet = filled({ failurePolicy: { mode, maxAttempts }, retryDelayMs: 400 })
      const attempts: string[] = []
      const handle =
        (host: string): Handler =>
        ({ attempt }, { lsn }) => {
          if (lsn !== 30) return
          attempts.push(`${host}${attempt}`)
          throw POISON
        }
      const a = await start(fleet, 'a', 'processChange', handle('a'))
      await fleet.until(() => attempts.length === (mode === 'haltRange' ? 4 : 3))
      await fleet.advance(50)
      await fleet.run(a.host.unregisterObservers())
      const { events } = await start(fleet, 'b', 'processChange', handle('b'))
      const last = mode === 'haltRange' ? 'rangeHalted' : 'deadLettered'
      await fleet.until(() => events.some(({ name }) => name === last))
      expect(attempts).toEqual(
        mode === 'haltRange' ? ['a1', 'a2', 'a3', 'a4', 'b4'] : ['a1', 'a2', 'a3', 'b4', 'b5'],
      )
      await fleet.end()
    },
  )

  test('PH-15 PH-11 do not come again when their range was split in the batch: the batch is finished', async () => {
    const fleet = newFleet()
    for (let n = 0; n < CHANGES; n += 1) fleet.feed.append(`key ${n}`)
    const done: string[] = []
    const handle: Handler = async (_context, { id }) => {
      await fleet.clock.sleep(100, never)
      done.push(id)
    }
    const a = await start(fleet, 'a', 'processChange', handle)
    await fleet.until(() => done.length >= 10)
    fleet.feed.split(fleet.feed.ranges[0]!)
    await fleet.until(() => done.length >= 15)
    expect(await fleet.run(a.host.unregisterObservers())).toEqual({ abortedChanges: 0 })
    await start(fleet, 'b', 'processChange', handle)
    await fleet.until(() => new Set(done).size === CHANGES, 60_000)
    expect(done).toHaveLength(CHANGES)
    await fleet.end()
  })

  test('PH-15 PH-5 do not come again because a feed told an earlier position last', async () => {
    const fleet = filled({ retryDelayMs: 30_000, retryMaxDelayMs: 30_000 })
    const { positionAt } = fleet.feed
    const askedFor: number[] = []
    const slowAtFirst: typeof positionAt = async (request) => {
      askedFor.push(request.lsn)
      if (askedFor.length === 1) await fleet.clock.sleep(5_000, never)
      return positionAt!.call(fleet.feed, request)
    }
    Object.defineProperty(fleet.feed, 'positionAt', { value: slowAtFirst })
    const done: number[] = []
    let failed = 0
    const handle: Handler = async (_context, { lsn }) => {
      await fleet.clock.sleep(20, never)
      if (lsn !== 20) return
      failed += 1
      throw POISON
    }
    const a = await start(fleet, 'a', 'processChange', noting(done, handle))
    await fleet.until(() => failed === 1)
    await fleet.advance(10_000)
    // The fault happened: two were asked for, and the one behind was told first.
    expect(askedFor).toEqual([expect.any(Number), 19])
    expect(askedFor[0]).toBeLessThan(19)
    expect(a.host.health().leases[0]?.processedLsn).toBe(19)
    await fleet.run(a.host.unregisterObservers())
    await start(fleet, 'b', 'processChange', noting(done))
    await fleet.until(() => done.includes(CHANGES))
    expect(done).toEqual(all)
    await fleet.end()
  })

  test('PH-15 PH-11 of a feed that has no positions in a page are not cut by a stop', async () => {
    const fleet = newFleet({ measuring: false })
    for (let n = 0; n < CHANGES; n += 1) fleet.feed.append('key')
    const done: number[] = []
    const slow: Handler = () => fleet.clock.sleep(100, never)
    const a = await start(fleet, 'a', 'processChange', noting(done, slow))
    await fleet.until(() => done.length >= 10)
    await fleet.run(a.host.unregisterObservers())
    await start(fleet, 'b', 'processChange', noting(done))
    await fleet.until(() => done.includes(CHANGES))
    expect(done).toEqual(all)
    await fleet.end()
  })

  test('PH-15 are in the same transaction as others: no position is in the middle of one', async () => {
    const fleet = newFleet({ hostOptions: { retryDelayMs: 50 } })
    fleet.feed.append('key', 20)
    fleet.feed.append('key', 20)
    const done: string[] = []
    const slow: Handler = async (_context, { id }) => {
      await fleet.clock.sleep(100, never)
      done.push(id)
    }
    const a = await start(fleet, 'a', 'processChange', slow)
    await fleet.until(() => done.length >= 5)
    await fleet.run(a.host.unregisterObservers())
    expect(done).toHaveLength(20)
    await start(fleet, 'b', 'processChange', slow)
    await fleet.until(() => done.length >= 40)
    expect(new Set(done).size).toBe(40)
    await fleet.end()
  })

  test('PH-15 keep a call from counting as one that hangs', async () => {
    const fleet = filled({ maxBatchMs: 3_000 })
    const done: number[] = []
    const { events } = await start(
      fleet,
      'a',
      'processChange',
      noting(done, () => fleet.clock.sleep(1_000, never)),
    )
    await fleet.until(() => done.includes(CHANGES), 90_000)
    expect(done).toEqual(all)
    expect(events.filter(({ name }) => name === 'observerStuck')).toEqual([])
    await fleet.end()
  })

  test.each([
    [
      'a change of another batch',
      {},
      ({ accepted }: ObserverContext, change: Change) => accepted({ ...change }),
    ],
    [
      'manual checkpoints',
      { checkpointFrequency: 'manual' },
      ({ accepted }: ObserverContext, change: Change) => accepted(change),
    ],
  ] as const)('PH-15 are refused where they mean nothing: %s', async (_what, options, accept) => {
    const fleet = filled(options)
    const errors: unknown[] = []
    const member = fleet.create('a')
    await fleet.run(
      member.host.registerObserver((context, changes) => {
        try {
          accept(context, changes[0]!)
        } catch (error) {
          errors.push(error)
        }
      }),
    )
    await fleet.until(() => errors.length > 0)
    expect(errors[0]).toMatchObject({ code: 'ERR_INVALID_OPTION' })
    await fleet.end()
  })
})

describe('a stop', () => {
  test('PH-15 PH-11 counts only what was not accepted', async () => {
    const fleet = filled({ shutdownTimeoutMs: 2_000, abortGraceMs: 500 })
    const done: number[] = []
    const hang: Handler = (_context, { lsn }) =>
      lsn === 41 ? fleet.clock.sleep(600_000, never) : undefined
    const a = await start(fleet, 'a', 'accepted', noting(done, hang))
    await fleet.until(() => done.length === 40)
    expect(await fleet.run(a.host.unregisterObservers())).toEqual({ abortedChanges: 20 })
    await start(fleet, 'b', 'accepted', noting(done))
    await fleet.until(() => done.includes(CHANGES))
    expect(done).toEqual(all)
  })

  test('PH-11 says how many changes it could not wait for', async () => {
    const fleet = filled({ shutdownTimeoutMs: 2_000, abortGraceMs: 500 })
    const lines: string[] = []
    const member = fleet.create('a')
    const aborted: unknown[] = []
    member.host.on('batchAborted', (event) => aborted.push(event))
    let called = 0
    await fleet.run(
      member.host.registerObserver(async () => {
        called += 1
        await fleet.clock.sleep(60_000, never)
      }),
    )
    await fleet.until(() => called > 0)
    const stop = await fleet.run(member.host.unregisterObservers())
    expect(lines).toEqual([])
    expect(stop).toEqual({ abortedChanges: CHANGES })
    expect(aborted).toEqual([
      expect.objectContaining({ changes: CHANGES, lsn: CHANGES, reason: 'shutdown' }),
    ])
    expect(await member.host.unregisterObservers()).toEqual(stop)
  })

  test.each(['processChange', 'accepted'] as const)(
    'PH-11 by an observer itself does not wait for it: %s',
    async (way) => {
      const fleet = newFleet({ ranges: 2, hostOptions: { shutdownTimeoutMs: 20_000 } })
      for (let n = 0; n < CHANGES; n += 1) fleet.feed.append(`key ${n}`)
      const done: string[] = []
      const tookMs: number[] = []
      const member: FleetHost = await start(fleet, 'a', way, async (_context, { id }) => {
        await fleet.clock.sleep(100, never)
        if (done.length === 5) {
          const startMs = fleet.clock.monotonicMs()
          await member.host.unregisterObservers()
          tookMs.push(fleet.clock.monotonicMs() - startMs)
        }
        done.push(id)
      })
      await fleet.until(() => member.host.health().status === 'stopped')
      // The change of the other range that was in hand.
      expect(tookMs[0]).toBeLessThan(1_000)
      await start(fleet, 'b', way, (_context, { id }) => void done.push(id))
      await fleet.until(() => new Set(done).size === CHANGES)
      expect(done).toHaveLength(CHANGES)
      await fleet.end()
    },
  )

  test.each(['open', 'close'] as const)(
    'PH-11 by an observer itself does not wait for it: in %s',
    async (phase) => {
      const fleet = newFleet({ ranges: 2, hostOptions: { shutdownTimeoutMs: 20_000 } })
      const tookMs: number[] = []
      const member = fleet.create('a')
      const stop = async (): Promise<void> => {
        const startMs = fleet.clock.monotonicMs()
        await member.host.unregisterObservers()
        tookMs.push(fleet.clock.monotonicMs() - startMs)
      }
      await fleet.run(member.host.registerObserver({ processChanges() {}, [phase]: stop }))
      if (phase === 'close') {
        await fleet.until(() => member.host.health().status === 'running')
        await fleet.run(member.host.unregisterObservers())
      }
      await fleet.until(() => member.host.health().status === 'stopped')
      expect(tookMs).not.toEqual([])
      expect(Math.max(...tookMs)).toBeLessThan(1_000)
      await fleet.end()
    },
  )

  test.each(['open', 'call'] as const)(
    'PH-11 by what an observer left running waits for its call in hand: of its %s',
    async (begun) => {
      const fleet = newFleet({
        feedOptions: { startFromBeginning: true, maxItemCount: 1 },
        hostOptions: { shutdownTimeoutMs: 20_000 },
      })
      const done: unknown[] = []
      const member = fleet.create('a')
      const stopLater = (): void => {
        void fleet.clock.sleep(500, never).then(async () => {
          await member.host.unregisterObservers()
          done.push('stopped')
        })
      }
      const observer = {
        open() {
          if (begun === 'open') stopLater()
        },
        async processChange(_context: ObserverContext, { lsn }: Change): Promise<void> {
          if (begun === 'call' && lsn === 1) stopLater()
          else await fleet.clock.sleep(5_000, never)
          done.push(lsn)
        },
      }
      const first = begun === 'open' ? 1 : 2
      for (let n = 0; n < 2; n += 1) fleet.feed.append('key')
      await fleet.run(member.host.registerObserver(observer))
      await fleet.until(() => done.includes('stopped'))
      expect(done).toEqual([...all.slice(0, first), 'stopped'])
      await fleet.end()
    },
  )
})
