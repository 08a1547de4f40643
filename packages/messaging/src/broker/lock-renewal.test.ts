import { SimulatedClock, settle } from '@tidemark/testing'
import { describe, expect, it } from 'vitest'
import { LockRenewal, type RenewedLock } from './lock-renewal.ts'
import type { LockEnd } from './received.ts'

const LOCK_MS = 10_000

class Unavailable extends Error {
  readonly retryable = true
}

/** Locks of ten seconds. */
function renewalOf({ fails = 0, isLost = (): boolean => false } = {}): {
  readonly clock: SimulatedClock
  readonly renewal: LockRenewal
  readonly renewed: { atMs: number; tokens: readonly string[] }[]
  readonly lost: unknown[]
  readonly add: (token: string, renewUntilMs?: number) => void
} {
  const clock = new SimulatedClock()
  const renewed: { atMs: number; tokens: readonly string[] }[] = []
  const lost: unknown[] = []
  let failures = fails
  const end = (): LockEnd => ({
    untilUtcMs: clock.wallMs() + LOCK_MS,
    endsAtMs: clock.monotonicMs() + LOCK_MS,
  })
  const renewal = new LockRenewal({
    clock,
    renew: async (tokens) => {
      await Promise.resolve()
      if (failures-- > 0) throw new Unavailable()
      renewed.push({ atMs: clock.monotonicMs(), tokens })
      return tokens.map(() => (isLost() ? new Error('lost') : end()))
    },
  })
  const add = (token: string, renewUntilMs = Infinity): void => {
    const lock: RenewedLock = {
      token,
      end: end(),
      renewUntilMs,
      onRenewed: () => undefined,
      onLost: (error) => lost.push(error),
    }
    renewal.add(lock)
  }
  return { clock, renewal, renewed, lost, add }
}

describe('LockRenewal', () => {
  it('SET-07 renews each lock when half of its time is left, those due together in one call', async () => {
    const { clock, add, renewed, renewal } = renewalOf()
    add('a')
    add('b')
    await clock.advance(12_000)
    expect(renewed).toEqual([
      { atMs: 5_000, tokens: ['a', 'b'] },
      { atMs: 10_000, tokens: ['a', 'b'] },
    ])
    await renewal.close()
    expect(clock.sleeping).toBe(0)
  })

  it('has one timer for all locks, and none soon after the last one', async () => {
    const { clock, add, renewal } = renewalOf()
    for (const token of ['a', 'b', 'c']) add(token)
    await settle()
    expect(clock.sleeping).toBe(1)
    for (const token of ['a', 'b', 'c']) renewal.remove(token)
    await clock.advance(4_000)
    add('d')
    await settle()
    expect(clock.sleeping).toBe(1)
    renewal.remove('d')
    await clock.advance(5_000)
    expect(clock.sleeping).toBe(0)
    await renewal.close()
  })

  it('renews no longer than the user wants', async () => {
    const { clock, add, renewed, renewal } = renewalOf()
    add('a', 11_000)
    await clock.advance(60_000)
    expect(renewed.map(({ atMs }) => atMs)).toEqual([5_000, 10_000])
    await renewal.close()
  })

  it('tells of a lock that was lost, and renews it no more', async () => {
    const { clock, add, lost, renewed, renewal } = renewalOf({ isLost: () => true })
    add('a')
    await clock.advance(60_000)
    expect(lost).toHaveLength(1)
    expect(renewed).toHaveLength(1)
    await renewal.close()
  })

  it('tries again while the store is away, until the lock has ended', async () => {
    const away = renewalOf({ fails: 2 })
    away.add('a')
    await away.clock.advance(8_000)
    expect(away.renewed.map(({ atMs }) => atMs)).toEqual([7_000])
    await away.renewal.close()
    const gone = renewalOf({ fails: Infinity })
    gone.add('a')
    await gone.clock.advance(9_900)
    expect(gone.lost).toEqual([])
    await gone.clock.advance(1_200)
    expect(gone.lost).toHaveLength(1)
    await gone.renewal.close()
  })
})
