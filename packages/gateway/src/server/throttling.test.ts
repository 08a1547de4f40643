import { systemClock } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { RangeBudgets } from '../collections/range-budgets.ts'
import { testGateway } from './running-gateway.fixture.ts'

test('a budget lets in while it is not empty, and says when it will be', () => {
  let nowMs = 0
  const budgets = new RangeBudgets(100, { ...systemClock, monotonicMs: () => nowMs })
  budgets.admit('a')
  budgets.spend('a', 150)
  expect(() => budgets.admit('a')).toThrow(
    expect.objectContaining({ code: 'ERR_THROTTLED', retryAfterMs: 500 }),
  )
  budgets.admit('b')
  nowMs = 501
  budgets.admit('a')
})

test('without a limit nothing is ever refused', () => {
  const budgets = new RangeBudgets(undefined, systemClock)
  budgets.spend('a', 1e9)
  budgets.admit('a')
})

test('the real client waits as it is told, and loses nothing', async () => {
  await using started = await testGateway({ requestUnitsPerRange: 50 })
  const container = await started.container({ id: 'c', partitionKey: '/pk' })
  // All are let in while the budget lasts, and leave it overdrawn.
  const first = Array.from({ length: 14 }, (_, n) =>
    container.items.create({ id: `a${n}`, pk: 'x' }),
  )
  await Promise.all(first)
  const { diagnostics } = await container.items.create({ id: 'late', pk: 'x' })
  const { failedAttempts } = diagnostics.clientSideRequestStatistics.retryDiagnostics
  expect(failedAttempts.map(({ statusCode }) => statusCode)).toContain(429)
  expect(await started.store.database('db').collection('c').count()).toBe(15)
})
