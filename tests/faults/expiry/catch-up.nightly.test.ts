import { expect, test } from 'vitest'
import { until } from '../until.ts'
import { ExpiryStage } from './expiry-stage.ts'
import { writeExpiring } from './write-expiring.ts'

const DAYS_MS = 3 * 86_400_000
const MIB = 2 ** 20

test('TTL-5 after days of downtime 80,000 expired documents are swept in bounded memory', async () => {
  const count = 80_000
  await using stage = await ExpiryStage.open()
  {
    await using past = await stage.openStore(-DAYS_MS)
    await writeExpiring(past.documents, { count, ttl: 60 })
    // The fault: they have not expired yet by the clock of those days.
    expect(await past.documents.count()).toBe(count)
  }
  const worker = await stage.start('expiry/catch-up.child.ts')
  await until(() => worker.events('caughtUp') > 0 || worker.hasEnded, {
    what: 'caught up',
    timeoutMs: 150_000,
  })
  await worker.finished()
  const note = worker.history.findLast(({ kind }) => kind === 'event')
  const grown = JSON.parse(note?.kind === 'event' ? note.detail : '{}') as {
    readonly swept: number
    readonly heapBytes: number
    readonly residentBytes: number
  }
  console.log(grown)
  expect(grown.swept).toBe(count)
  expect(grown.heapBytes).toBeLessThan(64 * MIB)
  // With the writer's thread and the file cache of SQLite.
  expect(grown.residentBytes).toBeLessThan(192 * MIB)
}, 240_000)
