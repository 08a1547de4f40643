import { SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { UnsyncedCommits, type UnsyncedCommitsOptions } from './unsynced-commits.ts'

const TIMELINE = 1

/** Commits of a server whose answers to a flush are given by hand. */
function commitsOf() {
  const clock = new SimulatedClock()
  const flushes: PromiseWithResolvers<unknown[][]>[] = []
  const context = {
    connections: {
      write: () => {
        const flush = Promise.withResolvers<unknown[][]>()
        flushes.push(flush)
        return flush.promise
      },
    },
    statements: { of: (text: string) => text },
  } as unknown as UnsyncedCommitsOptions['context']
  return { clock, flushes, commits: new UnsyncedCommits({ context, clock }) }
}

test('a commit that is made while a flush is under way needs another one', async () => {
  const { flushes, commits } = commitsOf()
  commits.made(TIMELINE)
  const first = commits.flush()
  commits.made(TIMELINE)
  const second = commits.flush()
  expect(flushes).toHaveLength(1)
  flushes[0]?.resolve([[TIMELINE]])
  await first
  await expect.poll(() => flushes.length).toBe(2)
  flushes[1]?.resolve([[TIMELINE]])
  await second
})

test('the end does not wait for a server that is away, also with a flush under way', async () => {
  const { clock, flushes, commits } = commitsOf()
  commits.made(TIMELINE)
  await clock.advance(200)
  await expect.poll(() => flushes.length).toBe(1)
  const beganMs = clock.monotonicMs()
  let endedMs: number | undefined
  const end = commits.end().then(() => (endedMs = clock.monotonicMs()))
  await clock.advance(5_000)
  await end
  expect(endedMs).toBe(beganMs + 1_000)
})
