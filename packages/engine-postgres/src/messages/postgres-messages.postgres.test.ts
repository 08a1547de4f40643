import { systemRandom } from '@tidemark/contracts'
import type { MessageEngine } from '@tidemark/store/messages'
import {
  sharedPostgres,
  startPgBouncer,
  startPostgresProcess,
  type SharedPostgres,
} from '@tidemark/testing/servers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgresEngine } from '../postgres-engine.ts'
import { EPOCH_JUMP } from '../schema/epoch-jump.ts'
import { initSchema } from '../schema/manage-schema.ts'
import { MESSAGE_FUNCTIONS } from '../schema/message-functions.ts'
import { STORE_SCHEMA } from '../schema/migrations.ts'
import { openSchemaOwner } from '../schema/schema-owner.fixture.ts'
import { numbersOf, QueueUnderTest } from './messages-under-test.fixture.ts'

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})

afterAll(() => server[Symbol.asyncDispose]())

interface Opened extends AsyncDisposable {
  readonly messages: MessageEngine
  readonly check: () => Promise<readonly string[]>
}

async function open(url: string): Promise<Opened> {
  const engine = await openPostgresEngine({ url })
  if ((await engine.readDatabase('db')) === undefined) await engine.createDatabase('db')
  const database = await engine.openDatabase('db')
  return {
    messages: database.messages,
    check: () => database.check(),
    [Symbol.asyncDispose]: () => engine.close(),
  }
}

test('what was sent is received in its order, and gone when it is completed', async () => {
  await using opened = await open(await server.createDatabase())
  const queue = await QueueUnderTest.create(opened.messages, 'orders')
  expect(await queue.send('a', 'b')).toEqual([1, 2])
  expect(await queue.send('c')).toEqual([3])
  const first = await queue.receive(2)
  expect(first.map(({ body }) => new TextDecoder().decode(body))).toEqual(['a', 'b'])
  await queue.settle(first, 'complete')
  await expect(queue.settle(first, 'complete')).rejects.toThrow('lockLost')
  const rest = await queue.receive()
  expect(numbersOf(rest)).toEqual([3])
  await queue.settle(rest, 'complete')
  expect(await queue.receive()).toEqual([])
  expect(await opened.check()).toEqual([])
})

test('a watcher hears of commits of its own process, and of another one', async () => {
  const url = await server.createDatabase()
  await using first = await open(url)
  await using second = await open(url)
  const queue = await QueueUnderTest.create(first.messages, 'orders')
  const { number } = queue.record
  const own: (readonly number[] | undefined)[] = []
  const heard = Promise.withResolvers<void>()
  const endOwn = first.messages.watch((entities) => own.push(entities))
  const endOther = second.messages.watch((entities) => {
    if (entities?.includes(number) === true) heard.resolve()
  })
  await queue.send('a')
  expect(own).toContainEqual([number])
  await heard.promise
  endOwn()
  endOther()
  const count = own.length
  await queue.send('b')
  expect(own).toHaveLength(count)
})

test('SET-02 a message that another process gives back is in front again', async () => {
  const url = await server.createDatabase()
  await using first = await open(url)
  await using second = await open(url)
  const queue = await QueueUnderTest.create(first.messages, 'orders')
  const other = queue.by(second.messages)
  await queue.send('a', 'b', 'c', 'd', 'e')
  expect(numbersOf(await queue.receive(1))).toEqual([1])
  const taken = await other.receive(1)
  expect(numbersOf(taken)).toEqual([2])
  // From here on the first process begins behind them.
  expect(numbersOf(await queue.receive(1))).toEqual([3])
  const told = Promise.withResolvers<void>()
  const end = first.messages.watch(() => told.resolve())
  await other.settle(taken, 'abandon')
  await told.promise
  end()
  const again = await queue.receive(1)
  expect(again).toMatchObject([{ number: 2, deliveries: 1 }])
  await queue.settle(again, 'abandon')
  expect(numbersOf(await queue.receive())).toEqual([2, 4, 5])
})

test('SET-19 a row that another transaction has is skipped, and found when that has failed', async () => {
  const url = await server.createDatabase()
  await using opened = await open(url)
  const queue = await QueueUnderTest.create(opened.messages, 'orders')
  await queue.send('a', 'b', 'c')
  const client = new Client(url)
  await client.connect()
  await client.query('BEGIN')
  await client.query('SELECT 1 FROM tidemark.message WHERE number = 1 FOR UPDATE')
  expect(numbersOf(await queue.receive(1))).toEqual([2])
  expect(numbersOf(await queue.receive(1))).toEqual([3])
  expect(await queue.receive(1)).toEqual([])
  await client.query('ROLLBACK')
  await client.end()
  while ((await opened.messages.look([queue.record.number]))[0]?.hasReady !== true);
  const left: number[] = []
  // A look from the beginning may be a few hundred milliseconds away.
  while (left.length === 0) left.push(...numbersOf(await queue.receive(1)))
  expect(left).toEqual([1])
})

test('a store of before has its tables of messages when it is opened', async () => {
  const url = await server.createDatabase()
  await using owner = await openSchemaOwner(url)
  const program = {
    steps: STORE_SCHEMA.steps.slice(0, 1),
    functions: STORE_SCHEMA.functions.filter((text) => text !== MESSAGE_FUNCTIONS),
  }
  await initSchema({ ...owner, random: systemRandom, program })
  await owner.query(
    `INSERT INTO tidemark.database(number, id, rid, etag, ts, clock, holder, until, purge)
     VALUES (7, 'db', 'rid', 'etag', 1, 0, '', 0, 0)`,
  )
  await using opened = await open(url)
  const queue = await QueueUnderTest.create(opened.messages, 'orders')
  await queue.send('a')
  expect(numbersOf(await queue.receive())).toEqual([1])
  expect(await opened.check()).toEqual([])
})

test('SET-18 after a fail-over, numbers jump above those that it may have lost', async () => {
  const url = await server.createDatabase()
  await using opened = await open(url)
  const queue = await QueueUnderTest.create(opened.messages, 'orders')
  expect(await queue.send('a', 'b')).toEqual([1, 2])
  const client = new Client(url)
  await client.connect()
  // As a server of another timeline finds it.
  await client.query('UPDATE tidemark.entity_counter SET timeline = timeline - 1')
  await client.end()
  expect(numbersOf(await queue.receive(1))).toEqual([1])
  expect(await queue.send('c', 'd')).toEqual([3 + EPOCH_JUMP, 4 + EPOCH_JUMP])
  expect(await queue.send('e')).toEqual([5 + EPOCH_JUMP])
  expect(numbersOf(await queue.receive(2))).toEqual([2, 3 + EPOCH_JUMP])
  expect(await opened.check()).toEqual([])
})

test('behind a pooler that gives each transaction another session, all commands work', async () => {
  await using process = await startPostgresProcess()
  await using pooler = await startPgBouncer(process, { settings: { default_pool_size: '3' } })
  const direct = await process.createDatabase()
  await using opened = await open(pooler.url(new URL(direct).pathname.slice(1)))
  const queue = await QueueUnderTest.create(opened.messages, 'orders')
  const texts = Array.from({ length: 40 }, (_, index) => `m${index}`)
  await Promise.all(texts.map((text) => queue.send(text)))
  const taken = await Promise.all(texts.map(() => queue.receive(1)))
  expect(numbersOf(taken.flat()).toSorted((a, b) => a - b)).toEqual(texts.map((_, at) => at + 1))
  await Promise.all(taken.map((each) => queue.settle(each, 'complete')))
  expect(await queue.receive()).toEqual([])
  expect(await opened.check()).toEqual([])
})

test('commands of a database that is gone say so', async () => {
  const engine = await openPostgresEngine({ url: await server.createDatabase() })
  await engine.createDatabase('db')
  const { messages } = await engine.openDatabase('db')
  const queue = await QueueUnderTest.create(messages, 'orders')
  await engine.deleteDatabase('db')
  await expect(queue.send('a')).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
  await expect(messages.readCatalog()).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
  expect(() => messages.watch(() => {})).toThrow(expect.objectContaining({ code: 'ERR_NOT_FOUND' }))
  await engine.close()
  await expect(queue.send('a')).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
})
