import { FULL_RANGE, systemClock } from '@tidemark/contracts'
import type { Collection, Store } from '@tidemark/store'
import {
  startPostgresReplica,
  startPostgresServer,
  startTcpProxy,
  type PostgresServer,
  type TcpProxy,
} from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import type { PostgresEngineOptions } from './options.ts'
import { EPOCH_JUMP } from './schema/epoch-jump.ts'
import { openAt, type Note } from './store-with-faults.fixture.ts'

/** A primary, its standby, and the address that programs know, which moves when the standby takes over. */
interface Pair extends AsyncDisposable {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** Between the two: cut, the standby gets nothing more. */
  readonly replication: TcpProxy
  readonly address: TcpProxy
  readonly url: string
  /** The primary is dead at once, and the standby takes over. */
  failOver(): Promise<void>
}

async function startPair(settings: Readonly<Record<string, string>> = {}): Promise<Pair> {
  // A checkpoint after the promotion must not be what makes the difference.
  const common = { checkpoint_timeout: '1h', max_wal_size: '4GB' }
  const primary = await startPostgresServer({ settings: { ...common } })
  const replication = await startTcpProxy(primary)
  const standby = await startPostgresReplica(replication, { settings: { ...common } })
  for (const [name, value] of Object.entries(settings)) {
    await primary.query(`ALTER SYSTEM SET ${name} = '${value}'`)
  }
  await primary.query('SELECT pg_reload_conf()')
  const address = await startTcpProxy(primary)
  return {
    primary,
    standby,
    replication,
    address,
    url: `postgres://postgres@${address.host}:${address.port}/postgres`,
    failOver: async () => {
      await primary.kill()
      await standby.promote()
      address.moveTo(standby)
      address.cut()
    },
    [Symbol.asyncDispose]: async () => {
      await address.stop()
      await standby[Symbol.asyncDispose]()
      await replication.stop()
      await primary[Symbol.asyncDispose]()
    },
  }
}

async function openNotes(
  url: string,
  options: PostgresEngineOptions = {},
): Promise<AsyncDisposable & { readonly store: Store; readonly notes: Collection<Note> }> {
  const store = await openAt(url, options)
  const notes = await store
    .database('db')
    .createCollectionIfNotExists<Note>({ id: 'notes', partitionKey: '/key' })
  return { store, notes, [Symbol.asyncDispose]: () => store.close() }
}

interface Seen {
  readonly id: string
  readonly lsn: number
  readonly text: string
}

/** Follows a feed; `stop` resolves when it has ended, and rejects when it failed by itself. */
function follow(
  notes: Collection<Note>,
  from: 'beginning' | { readonly continuation: string } = 'beginning',
): { readonly seen: Seen[]; readonly continuation: () => string; stop(): Promise<void> } {
  const seen: Seen[] = []
  const end = new AbortController()
  let continuation = ''
  const run = async (): Promise<void> => {
    try {
      for await (const page of notes.changes({ from, signal: end.signal })) {
        for (const change of page.changes) {
          if (change.kind !== 'document') continue
          seen.push({ id: change.id, lsn: change.lsn, text: change.document.text })
        }
        ;({ continuation } = page)
      }
    } catch (error) {
      if (!end.signal.aborted) throw error
    }
  }
  const running = run()
  running.catch(() => {})
  return {
    seen,
    continuation: () => continuation,
    stop: async () => {
      end.abort()
      await running
    },
  }
}

const create = async (notes: Collection<Note>, id: string, text = ''): Promise<number> =>
  (await notes.create({ id, key: 'a', text })).document._lsn

test('programs go on by themselves when an asynchronous standby takes over, and no LSN that a reader saw is given out twice', async () => {
  await using pair = await startPair()
  await using program = await openNotes(pair.url)
  await using other = await openNotes(pair.url)
  const { notes } = program
  const follower = follow(other.notes)
  const kept = await create(notes, 'kept')
  await pair.standby.caughtUpWith(pair.primary)
  pair.replication.refuse()
  const lost = await create(notes, 'lost')
  await expect.poll(() => follower.seen.length).toBe(2)
  const ahead = follower.continuation()
  await pair.failOver()
  // Right at once, before any checkpoint.
  expect(await pair.standby.query('SELECT timeline_id FROM pg_control_checkpoint()')).toEqual([
    { timeline_id: 1 },
  ])
  const next = await create(notes, 'next')
  expect(next).toBeGreaterThan(lost)
  expect(next - kept).toBe(EPOCH_JUMP + 1)
  await expect.poll(() => follower.seen.map(({ id }) => id)).toEqual(['kept', 'lost', 'next'])
  await follower.stop()
  // Nobody else has seen it; the document is not there.
  expect(await notes.count()).toBe(2)
  const page = await notes.readPage({ range: FULL_RANGE, continuation: ahead })
  expect(page.changes.map(({ id }) => id)).toEqual(['next'])
  await create(notes, 'lost', 'anew')
})

test('a reader that is ahead of the new primary is refused nothing, before anybody writes there, and then sees every commit', async () => {
  await using pair = await startPair()
  await using program = await openNotes(pair.url)
  const { notes } = program
  await create(notes, 'kept')
  await pair.standby.caughtUpWith(pair.primary)
  pair.replication.refuse()
  for (let count = 0; count < 10; count++) await create(notes, `lost ${count}`)
  const before = follow(notes)
  await expect.poll(() => before.seen.length).toBe(11)
  const continuation = before.continuation()
  await before.stop()
  await pair.failOver()
  const empty = await notes.readPage({ range: FULL_RANGE, continuation })
  expect(empty).toMatchObject({ changes: [], caughtUp: true })
  const after = follow(notes, { continuation })
  const fresh = follow(notes, { continuation: empty.continuation })
  for (let count = 0; count < 10; count++) await create(notes, `after ${count}`)
  const ids = (seen: readonly Seen[]): string[] => seen.map(({ id }) => id)
  const wanted = Array.from({ length: 10 }, (_, count) => `after ${count}`)
  await expect.poll(() => ids(after.seen)).toEqual(wanted)
  await expect.poll(() => ids(fresh.seen)).toEqual(wanted)
  await after.stop()
  await fresh.stop()
})

test('what a process knew of a collection that the fail-over took back is not mistaken for what came in its place', async () => {
  await using pair = await startPair()
  await using program = await openNotes(pair.url)
  await using other = await openNotes(pair.url)
  for (const key of ['a', 'b', 'c', 'd']) await program.notes.create({ id: key, key, text: '' })
  await pair.standby.caughtUpWith(pair.primary)
  pair.replication.refuse()
  // A change of the collection of which only this process knows, and the same number of changes afterwards.
  await program.notes.updateSettings({ pendingDeletes: { retentionSeconds: 1000 } })
  await program.notes.readPage({ range: FULL_RANGE, continuation: await beginning(program.notes) })
  await pair.failOver()
  await other.notes.updateSettings({ defaultTtl: 1 })
  await other.notes.create({ id: 'short', key: 'a', text: '' })
  await systemClock.sleep(2_100, new AbortController().signal)
  const page = await program.notes.readPage({
    range: FULL_RANGE,
    continuation: await beginning(program.notes),
  })
  // By the settings that there are all have expired, so none is delivered as a document.
  expect(page.changes.filter(({ kind }) => kind === 'document')).toEqual([])
})

async function beginning(notes: Collection<Note>): Promise<string> {
  const { continuation } = await notes.resolveStart({
    range: FULL_RANGE,
    start: { kind: 'beginning' },
  })
  return continuation
}

test('with a synchronous standby nothing that was acknowledged is lost, whenever the primary dies', async () => {
  await using pair = await startPair({ synchronous_standby_names: '*' })
  await using program = await openNotes(pair.url)
  const { notes } = program
  const follower = follow(notes)
  const acknowledged = new Set<string>()
  const unknown: string[] = []
  let isOver = false
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    for (let turn = 0; !isOver; turn++) {
      const id = `${lane}-${turn}`
      try {
        await create(notes, id)
        acknowledged.add(id)
      } catch (error) {
        expect(error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
        unknown.push(id)
      }
    }
  })
  await expect.poll(() => acknowledged.size, { timeout: 10_000 }).toBeGreaterThan(100)
  await pair.failOver()
  const atFailOver = acknowledged.size
  await expect.poll(() => acknowledged.size, { timeout: 10_000 }).toBeGreaterThan(atFailOver + 100)
  isOver = true
  await Promise.all(lanes)
  await expect
    .poll(() => [...acknowledged].filter((id) => !follower.seen.some((each) => each.id === id)), {
      timeout: 10_000,
    })
    .toEqual([])
  await follower.stop()
  const lsns = follower.seen.map(({ lsn }) => lsn)
  expect(lsns).toEqual([...new Set(lsns)].toSorted((a, b) => a - b))
  expect(Math.max(...lsns)).toBeGreaterThan(EPOCH_JUMP)
})

test('a primary without its synchronous standby acknowledges nothing, and its readers see nothing that may be lost', async () => {
  await using pair = await startPair({ synchronous_standby_names: '*' })
  await using program = await openNotes(pair.url, { statementTimeoutMs: 500 })
  const { notes } = program
  await create(notes, 'first')
  pair.replication.refuse()
  await pair.standby.kill()
  const follower = follow(notes)
  // Longer than any limit: it must not end in a success either.
  await expect(create(notes, 'second')).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
    message: expect.stringContaining('outcome is unknown'),
  })
  expect(follower.seen.map(({ id }) => id)).toEqual(['first'])
  await follower.stop()
})

test('an old primary that comes back read-only takes no write, and programs go on when the address is right again', async () => {
  await using pair = await startPair()
  await using program = await openNotes(pair.url)
  const { notes } = program
  await create(notes, 'first')
  await pair.standby.caughtUpWith(pair.primary)
  await pair.failOver()
  const second = await create(notes, 'second')
  await pair.primary.start()
  await pair.primary.query('ALTER SYSTEM SET default_transaction_read_only = on')
  await pair.primary.query('SELECT pg_reload_conf()')
  // The address leads back to it by mistake.
  pair.address.moveTo(pair.primary)
  pair.address.cut()
  const writing = create(notes, 'third')
  await systemClock.sleep(500, new AbortController().signal)
  pair.address.moveTo(pair.standby)
  pair.address.cut()
  expect(await writing).toBe(second + 1)
  expect(await pair.standby.query('SELECT count(*)::integer AS n FROM tidemark.doc')).toEqual([
    { n: 3 },
  ])
})
