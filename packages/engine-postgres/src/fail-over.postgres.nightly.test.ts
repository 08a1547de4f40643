import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FULL_RANGE, decodeContinuation, systemClock } from '@tidemark/contracts'
import type { Collection, Store } from '@tidemark/store'
import {
  startPostgresReplica,
  startPostgresProcess,
  startTcpProxy,
  type PostgresProcess,
  type TcpProxy,
} from '@tidemark/testing/servers'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { follow, type FeedFollower } from './feed-follower.fixture.ts'
import type { PostgresEngineOptions } from './options.ts'
import { EPOCH_JUMP } from './schema/epoch-jump.ts'
import { openAt, type Note } from './store-with-faults.fixture.ts'

/** A primary, its standby, and the address that programs know, which moves when the standby takes over. */
interface Pair extends AsyncDisposable {
  readonly primary: PostgresProcess
  readonly standby: PostgresProcess
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
  const primary = await startPostgresProcess({ settings: { ...common } })
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

interface Program {
  readonly store: Store
  readonly followed: Collection<Note>
  readonly read: Collection<Note>
  readonly changed: Collection<Note>
}

async function openProgram(url: string): Promise<Program> {
  const store = await openAt(url)
  const open = (id: string): Promise<Collection<Note>> =>
    store.database('db').createCollectionIfNotExists<Note>({ id, partitionKey: '/key' })
  return {
    store,
    followed: await open('followed'),
    read: await open('read'),
    changed: await open('changed'),
  }
}

async function openNotes(
  url: string,
  options: PostgresEngineOptions = {},
): Promise<AsyncDisposable & { readonly notes: Collection<Note> }> {
  const store = await openAt(url, options)
  const notes = await store
    .database('db')
    .createCollectionIfNotExists<Note>({ id: 'notes', partitionKey: '/key' })
  return { notes, [Symbol.asyncDispose]: () => store.close() }
}

/** With a number that the sequence has kept nowhere but in the lost part of the log. Resolves with its `_rid`. */
async function createLostCollection(primary: PostgresProcess, store: Store): Promise<string> {
  const keptAhead = 'SELECT log_cnt::integer AS count FROM tidemark.collection_number'
  const [row] = await primary.query(keptAhead)
  const use = `SELECT nextval('tidemark.collection_number') FROM generate_series(1, $1)`
  await primary.query(use, { values: [row?.['count']] })
  expect(await primary.query(keptAhead)).toEqual([{ count: 0 }])
  const lost = await store.database('db').createCollection({ id: 'lost', partitionKey: '/key' })
  return (await lost.readRecord()).rid
}

/** Of all documents in the feed. */
async function idsOf(notes: Collection<Note>): Promise<string[]> {
  const ids: string[] = []
  for await (const page of notes.changes({ from: 'beginning', follow: false })) {
    ids.push(...page.changes.filter(({ kind }) => kind === 'document').map(({ id }) => id))
  }
  return ids
}

/** Of the positions that the feed's pages give out now. */
async function epochOf(notes: Collection<Note>): Promise<number> {
  const { continuation } = await notes.resolveStart({ range: FULL_RANGE, start: 'now' })
  const epochs = decodeContinuation(continuation).positions.map(({ epoch }) => epoch)
  expect(epochs).toHaveLength(1)
  return epochs[0] ?? Number.NaN
}

const create = async (notes: Collection<Note>, id: string, text = ''): Promise<number> =>
  (await notes.create({ id, key: 'a', text })).document._lsn

/** Of hooks, where vitest has no `expect.poll`. */
const WAIT = { timeout: 30_000 }

describe('when an asynchronous standby takes over that lacks the last commits', () => {
  let pair: Pair
  /** Two programs, each with the same three collections. */
  let one: Program
  let two: Program
  let follower: FeedFollower
  let keptLsn: number
  /** Of the page that gave it out. */
  let keptEpoch: number
  let lostLsn: number
  /** Of a collection that was lost. */
  let lostRid: string
  /** Of a reader that saw what was lost. */
  let ahead: string

  beforeAll(async () => {
    pair = await startPair()
    one = await openProgram(pair.url)
    two = await openProgram(pair.url)
    follower = follow(two.followed)
    keptLsn = await create(one.followed, 'kept')
    keptEpoch = await epochOf(one.followed)
    await create(one.read, 'kept')
    for (const id of ['a', 'b', 'c']) await create(one.changed, id)
    await pair.standby.caughtUpWith(pair.primary)
    pair.replication.refuse()
    lostLsn = await create(one.followed, 'lost')
    await vi.waitFor(() => expect(follower.ids()).toEqual(['kept', 'lost']), WAIT)
    for (let count = 0; count < 10; count++) await create(one.read, `lost ${count}`)
    const reader = follow(one.read)
    await vi.waitFor(() => expect(reader.ids()).toHaveLength(11), WAIT)
    ahead = reader.continuation()
    await reader.stop()
    lostRid = await createLostCollection(pair.primary, one.store)
    // Of this change only one program knows, and all that is left of it is what that program keeps.
    await one.changed.updateSettings({ pendingDeletes: { retentionSeconds: 1000 } })
    expect(await idsOf(one.changed)).toEqual(['a', 'b', 'c'])
    await pair.failOver()
  })
  afterAll(async () => {
    await follower.stop()
    await one.store.close()
    await two.store.close()
    await pair[Symbol.asyncDispose]()
  })

  test('programs go on by themselves, and no LSN that a reader saw is given out twice', async () => {
    // Right at once: no checkpoint has told the control file of the new timeline yet.
    const timeline = 'SELECT timeline_id FROM pg_control_checkpoint()'
    expect(await pair.standby.query(timeline)).toEqual([{ timeline_id: 1 }])
    const nextLsn = await create(one.followed, 'next')
    expect(nextLsn).toBeGreaterThan(lostLsn)
    expect(nextLsn - keptLsn).toBe(EPOCH_JUMP + 1)
    await expect.poll(follower.ids).toEqual(['kept', 'lost', 'next'])
    // The history in which it was is another one, and stays so with the next writes.
    for (const { followed } of [one, two]) expect(await epochOf(followed)).toBe(keptEpoch + 1)
    // What was lost is not there, and can be created again.
    expect(await idsOf(one.followed)).toEqual(['kept', 'next'])
    expect(await create(one.followed, 'lost')).toBe(nextLsn + 1)
    await expect.poll(follower.ids).toEqual(['kept', 'lost', 'next', 'lost'])
    expect(await epochOf(one.followed)).toBe(keptEpoch + 1)
  })

  test('a reader that is ahead is refused nothing, before anybody writes, and then sees every commit', async () => {
    const empty = await one.read.readPage({ range: FULL_RANGE, continuation: ahead })
    expect(empty).toMatchObject({ changes: [], caughtUp: true })
    const before = follow(one.read, { continuation: ahead })
    const after = follow(two.read, { continuation: empty.continuation })
    const wanted = Array.from({ length: 10 }, (_, count) => `after ${count}`)
    for (const id of wanted) await create(one.read, id)
    await expect.poll(before.ids).toEqual(wanted)
    await expect.poll(after.ids).toEqual(wanted)
    await before.stop()
    await after.stop()
  })

  test('what a program knew of a collection is not mistaken for what came in its place', async () => {
    await two.changed.updateSettings({ defaultTtl: 1 })
    await systemClock.sleep(2_100, new AbortController().signal)
    // By the settings that there are now all have expired.
    expect(await idsOf(one.changed)).toEqual([])
  })

  test('what is made has no number that something lost had', async () => {
    const made = await one.store
      .database('db')
      .createCollection({ id: 'made', partitionKey: '/key' })
    expect((await made.readRecord()).rid).not.toBe(lostRid)
    const numbers = 'SELECT min(id) AS segment FROM tidemark.segment WHERE coll > 16777216'
    const [row] = await pair.standby.query(numbers)
    expect(row?.['segment']).toBeGreaterThan(2 ** 24)
  })

  test('an old primary that comes back read-only takes no write, and programs go on when the address is right again', async () => {
    const firstLsn = await create(one.read, 'first')
    await pair.primary.start()
    await pair.primary.query('ALTER SYSTEM SET default_transaction_read_only = on')
    await pair.primary.query('SELECT pg_reload_conf()')
    const isOn = (): Promise<unknown> => pair.primary.query('SHOW default_transaction_read_only')
    await expect.poll(isOn).toEqual([{ default_transaction_read_only: 'on' }])
    // The address leads back to it by mistake.
    pair.address.moveTo(pair.primary)
    pair.address.cut()
    // The cut has been noticed: one in the midst of a commit would leave its outcome open.
    await systemClock.sleep(100, new AbortController().signal)
    const writing = create(one.read, 'second')
    // The server's log keeps it; its connections are ended at once and hardly ever seen among the sessions.
    const log = (): Promise<string> => readFile(join(pair.primary.folder, 'server.log'), 'utf8')
    await expect.poll(log).toMatch(/read-only transaction\n.*commit_group/s)
    pair.address.moveTo(pair.standby)
    expect(await writing).toBe(firstLsn + 1)
  })
})

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
  await expect.poll(() => acknowledged.size).toBeGreaterThan(100)
  await pair.failOver()
  const atFailOver = acknowledged.size
  await expect.poll(() => acknowledged.size).toBeGreaterThan(atFailOver + 100)
  isOver = true
  await Promise.all(lanes)
  await expect
    .poll(() => [...acknowledged].filter((id) => !follower.seen.some((each) => each.id === id)))
    .toEqual([])
  await follower.stop()
  const lsns = follower.seen.map(({ lsn }) => lsn)
  expect(lsns).toEqual([...new Set(lsns)].toSorted((a, b) => a - b))
  expect(Math.max(...lsns)).toBeGreaterThan(EPOCH_JUMP)
})

test('a primary without its synchronous standby acknowledges nothing, and its readers see nothing that may be lost', async () => {
  await using pair = await startPair({ synchronous_standby_names: '*' })
  await using program = await openNotes(pair.url, { statementTimeoutMs: 2_000 })
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
