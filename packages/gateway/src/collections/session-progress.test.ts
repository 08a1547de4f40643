import { FULL_RANGE, type Clock } from '@tidemark/contracts'
import type { OpenCollection, RangeRecord } from '@tidemark/store/engine'
import { expect, test } from 'vitest'
import { SessionGuard } from './session-progress.ts'

const range = { ...FULL_RANGE, number: 0, parents: [] } as unknown as RangeRecord

/** How long a read waits for LSN 9 of a range that stays at LSN 5. */
async function waitedMs(maxWaitMs: number): Promise<number> {
  let nowMs = 0
  const clock = { monotonicMs: () => nowMs } as Clock
  const engine = {
    resolveStart: async () => ({ lsn: 5 }),
    listRanges: async () => [range],
    waitForCommit: async ({ timeoutMs }: { readonly timeoutMs: number }) => {
      nowMs += timeoutMs
      return false
    },
  }
  // Only what is asked here.
  const open = { engine, record: { rid: 'rid' } } as unknown as OpenCollection
  const read = new SessionGuard(clock, maxWaitMs).assertReached(open, {
    range,
    keys: FULL_RANGE,
    token: '0:-1#9',
    signal: new AbortController().signal,
  })
  await expect(read).rejects.toMatchObject({ code: 'ERR_SESSION_AHEAD' })
  return nowMs
}

test('CF-15 a read of a state that is not there yet waits as long as any request may, and 2 s at most', async () => {
  expect(await waitedMs(0)).toBe(0)
  expect(await waitedMs(300)).toBe(300)
  expect(await waitedMs(30_000)).toBe(2000)
})
