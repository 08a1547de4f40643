import { describe, expect, test, vi } from 'vitest'
import type { LeaseHint } from '@tidemark/contracts'
import { identity, ownedGroup, syncOk, type LeaseStoreSuite } from './fixtures.ts'

export function describeHints(suite: LeaseStoreSuite): void {
  const A = identity('a')
  describe.skipIf(suite.options.hints === false)('hints', () => {
    test('LE-12 joins, plans and releases wake the others at once, until they unsubscribe', async () => {
      const { one, two } = await suite.group()
      const seen = new Set<LeaseHint>()
      const unsubscribe = two.subscribe((hint) => seen.add(hint))
      const wakes = async (hint: LeaseHint, cause: () => Promise<unknown>): Promise<void> => {
        seen.clear()
        // Hints are at most once, and a subscription takes a moment: the cause is repeated.
        await vi.waitFor(
          async () => {
            await cause()
            await vi.waitFor(() => expect(seen).toContain(hint), { timeout: 400, interval: 5 })
          },
          { timeout: 30_000, interval: 1 },
        )
      }
      let round = 0
      await wakes('membership', () => {
        round += 1
        return syncOk(one, identity('x', `x-${round}`), 'join')
      })
      const held = await ownedGroup(one, A, 2)
      const again = async (): Promise<void> => {
        round += 1
        const { membershipVersion } = await syncOk(one, identity('x', `x-${round}`), 'join')
        const targets = new Map(held.map(({ leaseId }) => [leaseId, 'a']))
        await one.plan({ membershipVersion, targets })
      }
      await wakes('plan', again)
      await wakes('released', async () => {
        const leaseIds = held.map(({ leaseId }) => leaseId)
        const releases = await one.acquire({ ...A, leaseIds })
        await one.release({ ...A, releases })
      })
      unsubscribe()
      await new Promise((resolve) => setImmediate(resolve))
      seen.clear()
      await syncOk(one, A, 'leave')
      await new Promise((resolve) => setImmediate(resolve))
      expect([...seen]).toEqual([])
    })
  })
}
