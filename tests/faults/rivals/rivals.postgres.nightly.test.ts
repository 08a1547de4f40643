import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { FULL_RANGE, errorCode } from '@tidemark/contracts'
import { startPostgresProcess, type PostgresProcess } from '@tidemark/testing/servers'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { FaultProcess, type FaultProcessTask, type FaultProgram } from '../fault-process.ts'
import { entriesOf, machineMs } from '../history.ts'
import { until } from '../until.ts'
import { countUp } from './count-up.ts'
import { openRivalStore, type RivalStore } from './rival-store.ts'
import { COUNTERS, JOB } from './rival-tasks.ts'

// Processes that write to the same range of one store on PostgreSQL, and of which one does not go on.

let server: PostgresProcess | undefined
let folder = ''
let postgresUrl = ''
let started = 0
const processes: FaultProcess<FaultProcessTask>[] = []

beforeAll(async () => {
  server = await startPostgresProcess()
})
afterAll(() => server?.[Symbol.asyncDispose]())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-rivals-'))
  postgresUrl = (await server?.createDatabase()) ?? ''
})
afterEach(async () => {
  await Promise.all(processes.splice(0).map((process) => process.end()))
  await rm(folder, { recursive: true, force: true })
})

async function start(
  program: FaultProgram,
  options: Readonly<Record<string, unknown>> = {},
): Promise<FaultProcess<FaultProcessTask>> {
  const historyFile = join(folder, `history-${started++}.jsonl`)
  const process = await FaultProcess.start(program, { postgresUrl, historyFile, ...options })
  processes.push(process)
  return process
}

/** Sessions that keep a transaction open, or wait for a lock. */
async function heldUp(): Promise<number> {
  const rows = await server?.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()
      AND (state LIKE 'idle in transaction%' OR wait_event_type = 'Lock' AND now() - state_change > '300 ms')`,
    { values: [new URL(postgresUrl).pathname.slice(1)] },
  )
  return Number(rows?.[0]?.['count'])
}

/** Counts up until the time is over. Resolves with how often, and how long one write took at most. */
async function countFor(
  { documents }: RivalStore,
  forMs: number,
): Promise<{ readonly counted: number; readonly longestMs: number }> {
  const endMs = machineMs() + forMs
  let [counted, longestMs] = [0, 0]
  for (let turn = 0; machineMs() < endMs; turn++) {
    const beganMs = machineMs()
    const id = COUNTERS[turn % COUNTERS.length] ?? ''
    if ((await countUp(documents, id)) === 'counted') counted++
    longestMs = Math.max(longestMs, machineMs() - beganMs)
    // In the longest stop there is nothing to meet but what is there from its begin.
    if (forMs > 1_000) await sleep(10)
  }
  return { counted, longestMs }
}

test('ST-3 ST-10 a process that is stopped in the middle of writing holds nobody up, and overwrites nothing when it goes on', async () => {
  await using opened = await openRivalStore(postgresUrl)
  for (const id of COUNTERS) await opened.documents.create({ id, key: id, count: 0 })
  const rival = await start('rivals/counter.child.ts')
  let [counted, longestMs] = [0, 0]
  // Often, to hit every part of a write, and once for longer than any timeout of idle transactions (5 s).
  const stops = [...Array.from({ length: 12 }, (_, turn) => 40 + turn * 6), 6_000]
  for (const stopMs of stops) {
    await until(() => rival.events('counted') > 0, { what: 'a rival' })
    rival.pause()
    const before = rival.events('counted')
    const beside = await countFor(opened, stopMs)
    expect(await heldUp()).toBe(0)
    // The fault: it did nothing meanwhile, but perhaps for a note that was being written.
    expect(rival.events('counted') - before).toBeLessThan(COUNTERS.length)
    rival.resume()
    const after = await countFor(opened, 15)
    counted += beside.counted + after.counted
    longestMs = Math.max(longestMs, beside.longestMs, after.longestMs)
  }
  await until(() => rival.events('refused') > 0, { what: 'a lost race' })
  await rival.terminate()
  console.log(`${counted} here, ${rival.events('counted')} by the rival, longest ${longestMs} ms`)
  // A transaction that the stopped process left open would hold it up for all of the last stop.
  expect(longestMs).toBeLessThan(4_000)
  // Each acknowledged step is in the sum, so none was overwritten.
  let sum = 0
  for (const id of COUNTERS) sum += (await opened.documents.read(id, id)).document?.count ?? 0
  expect(sum).toBe(counted + rival.events('counted'))
  expect(await opened.store.check()).toEqual([])
})

test.each(['stopped', 'running'] as const)(
  'JB-1 of two processes with one job, the earlier owner writes nothing once the later has: it is %s when that comes',
  async (how) => {
    const earlier = await start('rivals/fenced-writer.child.ts', { name: 'earlier', epoch: 100 })
    await until(() => earlier.events('written') > 20, { what: 'a writer' })
    if (how === 'stopped') earlier.pause()
    const later = await start('rivals/fenced-writer.child.ts', { name: 'later', epoch: 200 })
    await until(() => later.events('written') > 20, { what: 'the later one' })
    const writtenBefore = earlier.events('written')
    if (how === 'stopped') earlier.resume()
    await earlier.finished()
    expect(earlier.events('fenced')).toBeGreaterThan(0)
    if (how === 'running') expect(earlier.events('written')).toBe(writtenBefore)
    const lateComer = await start('rivals/fenced-writer.child.ts', { name: 'again', epoch: 100 })
    await lateComer.finished()
    expect(lateComer.events('written')).toBe(0)
    await later.terminate()
    expect(later.events('fenced')).toBe(0)

    await using opened = await openRivalStore(postgresUrl)
    const firstOfLater = Math.min(...lsnsOf(later))
    const found: { readonly id: string; readonly lsn: number }[] = []
    for await (const page of opened.documents.changes({ from: 'beginning', follow: false })) {
      found.push(...page.changes.map(({ id, lsn }) => ({ id, lsn })))
    }
    const own = found.filter(({ id }) => id.startsWith('earlier-'))
    expect(own.length).toBeGreaterThanOrEqual(lsnsOf(earlier).length)
    // Not one of the earlier owner's writes, told or not, came after the later one's first.
    expect(own.filter(({ lsn }) => lsn > firstOfLater)).toEqual([])
    expect(found.filter(({ id }) => id.startsWith('again-'))).toEqual([])
    expect(await opened.store.check()).toEqual([])
  },
)

test('JB-1 a part of the range is refused at a lower epoch too, another job is not', async () => {
  const later = await start('rivals/fenced-writer.child.ts', { name: 'later', epoch: 200 })
  await until(() => later.events('written') > 5, { what: 'a writer' })
  await later.terminate()
  await using opened = await openRivalStore(postgresUrl)
  const { database, documents } = opened
  const write = async (fence: { job: string; range: typeof FULL_RANGE; epoch: number }) => {
    const operation = { kind: 'put', document: { id: 'one', key: 'one', count: 1 } } as const
    try {
      await database.commitAtomically([{ collection: documents, operation }], { fence })
      return 'written'
    } catch (error) {
      return errorCode(error)
    }
  }
  const part = { minInclusive: '10', maxExclusive: '20' }
  expect(await write({ job: JOB, range: part, epoch: 199 })).toBe('ERR_FENCED_WRITE')
  expect((await documents.read('one', 'one')).document).toBeUndefined()
  expect(await write({ job: 'another', range: FULL_RANGE, epoch: 1 })).toBe('written')
  expect(await write({ job: JOB, range: part, epoch: 200 })).toBe('written')
})

function lsnsOf(process: FaultProcess<FaultProcessTask>): readonly number[] {
  return entriesOf(process.history, 'event')
    .filter(({ name }) => name === 'written')
    .map(({ detail }) => Number(detail))
}
