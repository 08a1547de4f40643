import { expect, test } from 'vitest'
import { HANG_MS } from './bystander.ts'
import { generateCostlyQuery } from './generate/costly-queries.ts'
import { runCostlyQueries } from './run-costly-queries.ts'

// A slice of what `npm run fuzz` does, the same queries in each run.
const SEED = Number(process.env['SEED'] ?? 1)

test('costly queries of one client crash nothing, are answered in time, and let others be served', async () => {
  const run = { seed: SEED, from: 0, queries: 40, p99LimitMs: HANG_MS }
  const result = await runCostlyQueries(run)
  const told = result.findings.map(({ index, what }) => [
    index === undefined ? '' : generateCostlyQuery(SEED, index).text.slice(0, 500),
    what,
  ])
  expect(told).toEqual([])
  // A run of queries that all fail, or that all are cheap, shows nothing.
  expect(result.statuses.get(200)).toBeGreaterThan(0)
  expect(result.statuses.get(400)).toBeGreaterThan(0)
  expect(result.statuses.get(408)).toBeGreaterThan(0)
  expect(result.readsMs.length).toBeGreaterThan(5)
})

test('a costly query follows from seed and number alone', () => {
  for (let index = 0; index < 200; index++) {
    expect(generateCostlyQuery(7, index).text).toBe(generateCostlyQuery(7, index).text)
  }
})
