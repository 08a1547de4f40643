import { CosmosClient, ErrorResponse, PluginOn, type Plugin } from '@azure/cosmos'
import { systemClock } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { RangeBudgets } from '../collections/range-budgets.ts'
import { TEST_KEY, testGateway } from './running-gateway.fixture.ts'

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
  const requestUnitsPerRange = 48
  // Nothing fills the budget until a request was refused, however slow the machine is.
  let nowMs = 0
  const clock = { ...systemClock, monotonicMs: () => nowMs }
  await using started = await testGateway({ requestUnitsPerRange, clock })
  await started.container({ id: 'c', partitionKey: '/pk' })
  const waits: { readonly toldMs: number; readonly waitedMs: number }[] = []
  let refused: { readonly toldMs: number; readonly atMs: number } | undefined
  const plugin: Plugin<unknown> = async (context, _diagnostics, next) => {
    if (refused !== undefined) {
      waits.push({ toldMs: refused.toldMs, waitedMs: performance.now() - refused.atMs })
      refused = undefined
    }
    try {
      return await next(context)
    } catch (error) {
      if (error instanceof ErrorResponse && error.code === 429) {
        const toldMs = Number(error.retryAfterInMs)
        refused = { toldMs, atMs: performance.now() }
        nowMs += toldMs + 1
      }
      throw error
    }
  }
  // The client's types do not name its plugins.
  const options = {
    endpoint: started.gateway.endpoint,
    key: TEST_KEY,
    plugins: [{ on: PluginOn.request, plugin }],
  }
  const client = new CosmosClient(options)
  const { items } = client.database('db').container('c')
  const write = async (n: number): Promise<number> =>
    (await items.create({ id: `a${n}`, pk: 'x' })).requestCharge
  let written = 0
  for (let spent = 0; spent < requestUnitsPerRange; written++) spent += await write(written)
  expect(waits).toEqual([])
  await write(written)
  client.dispose()
  expect(waits).toHaveLength(1)
  for (const { toldMs, waitedMs } of waits) {
    expect(toldMs).toBeGreaterThan(0)
    // A timer may come a millisecond early.
    expect(waitedMs).toBeGreaterThan(toldMs - 2)
  }
  expect(await started.store.database('db').collection('c').count()).toBe(written + 1)
})
