import { startPostgresProcess } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { runOrder } from './run-order.ts'

// A slice of what `npm run lsn-order` does, with one seed.

const SEED = 1

test('CF-3 CF-7 ST-5 ST-6 ST-9 readers behind 16 writers on one range miss nothing and see nothing twice, also when connections are ended and the server is restarted', async () => {
  await using server = await startPostgresProcess({ durable: true })
  const result = await runOrder({
    server,
    feed: 'tidemark',
    phases: [
      { kind: 'calm', seconds: 0.5 },
      { kind: 'terminate', seconds: 1 },
      { kind: 'restart', rounds: 1 },
    ],
    seed: SEED,
    sizes: { writerProcesses: 2, lanesEach: 8, readers: 2 },
    report: console.log,
  })
  console.log(result)
  expect(result).toMatchObject({ lost: 0, unseen: 0, twice: 0, disordered: 0, checkFaults: 0 })
  // The faults happened, and there was something for them to hit.
  expect(result.restarts).toBe(1)
  expect(result.terminated.writers).toBeGreaterThan(0)
  expect(result.terminated.readers).toBeGreaterThan(0)
  expect(result.splits).toBeGreaterThan(0)
  expect(result.merges).toBeGreaterThan(0)
  expect(result.reopened).toBeGreaterThan(0)
  expect(result.acknowledged).toBeGreaterThan(500)
})

test('CF-3 the same readers lose rows of a table whose numbers come from a sequence: the test can fail', async () => {
  await using server = await startPostgresProcess()
  const result = await runOrder({
    server,
    feed: 'sequence',
    phases: [{ kind: 'calm', seconds: 0.5 }],
    seed: SEED,
    sizes: { writerProcesses: 2, lanesEach: 8, readers: 2 },
    report: () => {},
  })
  console.log(`${result.unseen} of ${result.rows} rows never seen by one of two readers`)
  expect(result.lost).toBe(0)
  expect(result.unseen).toBeGreaterThan(0)
})
