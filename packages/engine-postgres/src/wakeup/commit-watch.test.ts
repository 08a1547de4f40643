import { FULL_RANGE } from '@tidemark/contracts'
import type { CollectionRecord } from '@tidemark/store/engine'
import { settle, SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { Statements } from '../connection/statements.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import type { ReadContext } from '../reader/read-context.ts'
import { CommitWatch } from './commit-watch.ts'

const SEGMENT = 7
const HOUR = 3_600_000

/** A watch of one collection with one range, whose server counts how often it is looked at. */
class Watched {
  readonly clock = new SimulatedClock()
  readonly watch: CommitWatch
  looks = 0
  lsn = 5
  hearsSinceMs: number | undefined = -HOUR
  isKnown = true

  constructor() {
    const range = { ...FULL_RANGE, number: 0, parents: [], segment: SEGMENT, ts: 0, segments: [] }
    const collection = { ranges: [range] }
    const context = {
      hasReplica: false,
      statements: new Statements('tidemark', { dialect: POSTGRES, clock: 'server' }),
      collections: {
        known: () => (this.isKnown ? collection : undefined),
        inRange: async (_: unknown, __: unknown, act: (known: unknown) => Promise<unknown>) => {
          this.isKnown = true
          return act({ range, collection, isFresh: false })
        },
      },
      connections: {
        read: async () => {
          this.looks++
          return [[String(SEGMENT), String(this.lsn)]]
        },
      },
    }
    this.watch = new CommitWatch({
      // What the watch uses of it.
      context: context as unknown as ReadContext,
      clock: this.clock,
      pollIntervalMs: () => 1_000,
      maxReplicaLagMs: 10_000,
      hearsAllSinceMs: () => this.hearsSinceMs,
    })
  }

  wait(afterLsn: number): Promise<boolean> {
    // Only its number is looked at.
    const collection = { number: 1, id: 'c' } as CollectionRecord
    const { signal } = new AbortController()
    return this.watch.wait({ collection, range: FULL_RANGE, afterLsn, timeoutMs: 60_000, signal })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.watch.end(new Error('over'))
  }
}

test('CF-12 what was told of before a wait began ends it at once, without a look', async () => {
  await using watched = new Watched()
  watched.watch.rung([{ collection: 1, range: 0, lsn: 6 }])
  expect(await watched.wait(5)).toBe(true)
  expect(watched.looks).toBe(0)
})

test('CF-12 a wait that hears everything begins without a look, and a ring ends it', async () => {
  await using watched = new Watched()
  const wait = watched.wait(5)
  await settle()
  expect(watched.looks).toBe(0)
  watched.watch.rung([{ collection: 1, range: 0, lsn: 6 }])
  expect(await wait).toBe(true)
})

test('CF-12 a commit of which nothing was told is found by the poll', async () => {
  await using watched = new Watched()
  const wait = watched.wait(5)
  await settle()
  watched.lsn = 6
  await watched.clock.advance(1_000)
  expect(await wait).toBe(true)
})

test.each<[string, (watched: Watched) => void]>([
  ['nothing is heard', (watched) => (watched.hearsSinceMs = undefined)],
  ['it has begun to hear just now', (watched) => (watched.hearsSinceMs = 0)],
  ['a ring just named no range', (watched) => watched.watch.rung([])],
  ['the ranges were not in hand', (watched) => (watched.isKnown = false)],
])('CF-12 a wait begins with a look when %s', async (_, prepare) => {
  await using watched = new Watched()
  prepare(watched)
  watched.lsn = 6
  expect(await watched.wait(5)).toBe(true)
  expect(watched.looks).toBeGreaterThan(0)
})

test('CF-12 what was heard before a ring without ranges ends no wait: a server that is back may have lost it', async () => {
  await using watched = new Watched()
  watched.watch.rung([{ collection: 1, range: 0, lsn: 6 }])
  watched.watch.rung([])
  const waiting = watched.wait(5)
  let isOver = false
  void waiting.then(() => (isOver = true))
  await settle()
  expect([isOver, watched.looks]).toEqual([false, 1])
  watched.watch.rung([{ collection: 1, range: 0, lsn: 6 }])
  expect(await waiting).toBe(true)
})
