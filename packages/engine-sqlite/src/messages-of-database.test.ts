import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { DatabaseEngine, StorageEngine } from '@tidemark/store/engine'
import { lockToken, type EntitySettings, type NewMessage } from '@tidemark/store/messages'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copySqliteStore } from './copy-store.ts'
import { openMemoryEngine } from './memory-engine.ts'
import { openSqliteEngine } from './sqlite-engine.ts'
import { openTestedEngine } from './testing.ts'

let parent = ''
let folder = ''
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
  folder = join(parent, 'store')
})
afterEach(() => rm(parent, { recursive: true, force: true }))

const settings: EntitySettings = {
  lockDurationMs: 60_000,
  maxDeliveryCount: 10,
  defaultTtlMs: undefined,
  deadLettersExpired: false,
  deadLettersFilterErrors: false,
  requiresSession: false,
  duplicateWindowMs: undefined,
  autoDeleteOnIdleMs: undefined,
  forwardTo: undefined,
  forwardDeadLettersTo: undefined,
  maxBytes: 2 ** 30,
  maxMessageBytes: 2 ** 20,
  status: 'Active',
  userMetadata: '',
}

const CALLER = { lockMs: undefined }
const LOCK = '0123456789abcdef0123'

async function open(engine: StorageEngine): Promise<DatabaseEngine> {
  if ((await engine.readDatabase('db')) === undefined) await engine.createDatabase('db')
  return engine.openDatabase('db')
}

/** Creates a queue. Returns its number. */
async function createQueue({ messages }: DatabaseEngine, path = 'orders'): Promise<number> {
  const { answer } = await messages.perform<'create'>(
    { kind: 'create', entities: [{ kind: 'queue', path, settings, rules: [] }] },
    CALLER,
  )
  if (answer.kind !== 'created') throw new Error(answer.kind)
  return answer.entities.find((entity) => entity.path === path)?.number ?? 0
}

function send({ messages }: DatabaseEngine, entity: number, ...bodies: string[]) {
  const sent = bodies.map((body): NewMessage => {
    return {
      head: '{}',
      body: new TextEncoder().encode(body),
      bytes: body.length,
      messageId: body,
      session: undefined,
      ttlMs: undefined,
      scheduledMs: undefined,
      copies: [],
    }
  })
  return messages.perform<'send'>(
    { kind: 'send', entity, touch: false, version: 1, parcels: [{ messages: sent }] },
    CALLER,
  )
}

async function receive({ messages }: DatabaseEngine, entity: number): Promise<readonly string[]> {
  const request = { mode: 'peekLock', max: 10, maxBytes: 2 ** 20, lock: LOCK } as const
  const { answer } = await messages.perform<'receive'>(
    { kind: 'receive', entity, touch: false, hold: undefined, requests: [request] },
    CALLER,
  )
  if (answer.kind !== 'received') throw new Error(answer.kind)
  return answer.deliveries.flat().map(({ message }) => new TextDecoder().decode(message.body))
}

/** The database's file, as another program sees it. */
async function databaseFile(): Promise<string> {
  const name = (await readdir(folder)).find((each) => /^db-.*\.sqlite$/.test(each)) ?? ''
  return join(folder, name)
}

async function inFile<Result>(act: (file: DatabaseSync) => Result): Promise<Result> {
  const file = new DatabaseSync(await databaseFile())
  try {
    return act(file)
  } finally {
    file.close()
  }
}

test('messages are received once, also in memory, and wait for the next process in a folder', async () => {
  for (const engine of [openMemoryEngine(), await openSqliteEngine({ folder })]) {
    const database = await open(engine)
    const queue = await createQueue(database)
    await send(database, queue, 'a', 'b')
    expect(await receive(database, queue)).toEqual(['a', 'b'])
    expect(await receive(database, queue)).toEqual([])
    await send(database, queue, 'c')
    expect(await database.messages.look([queue, 99])).toMatchObject([{ hasReady: true }])
    expect(await database.check()).toEqual([])
    await engine.close()
  }
  const engine = await openSqliteEngine({ folder })
  const database = await open(engine)
  const { entities } = await database.messages.readCatalog()
  expect(entities.map(({ path }) => path)).toEqual(['orders', 'orders/$DeadLetterQueue'])
  expect(await receive(database, entities[0]?.number ?? 0)).toEqual(['c'])
  await engine.close()
})

test('a database without messages has no tables for them until its first command', async () => {
  const engine = await openSqliteEngine({ folder })
  const database = await open(engine)
  const tables = (): Promise<unknown> =>
    inFile((file) =>
      file.prepare(`SELECT count(*) AS n FROM sqlite_schema WHERE name = 'message'`).get(),
    )
  expect(await database.messages.readCatalog()).toEqual({ entities: [] })
  expect(await database.messages.look([1])).toEqual([])
  expect(await database.check()).toEqual([])
  expect(await tables()).toEqual({ n: 0 })
  await createQueue(database)
  expect(await tables()).toEqual({ n: 1 })
  await engine.close()
})

test('a command that finds nothing writes nothing', async () => {
  const engine = await openSqliteEngine({ folder })
  const database = await open(engine)
  const queue = await createQueue(database)
  const log = `${await databaseFile()}-wal`
  const { size } = await stat(log)
  for (let n = 0; n < 5; n++) expect(await receive(database, queue)).toEqual([])
  expect((await stat(log)).size).toBe(size)
  await engine.close()
})

test('who watches hears its own commits and those of other processes', async () => {
  const engines = [await openSqliteEngine({ folder }), await openSqliteEngine({ folder })] as const
  const [watching, other] = [await open(engines[0]), await open(engines[1])]
  const queue = await createQueue(watching)
  const heard: (readonly number[] | undefined)[] = []
  let wake = (): void => undefined
  const stop = watching.messages.watch((entities) => {
    heard.push(entities)
    wake()
  })
  await send(watching, queue, 'own')
  expect(heard.splice(0)).toEqual([[queue]])
  for (const body of ['one', 'two', 'three']) {
    const woken = new Promise<void>((resolve) => (wake = resolve))
    await send(other, queue, body)
    await woken
    expect(heard.splice(0)).toEqual([undefined])
    expect(await receive(watching, queue)).toContain(body)
  }
  stop()
  await send(watching, queue, 'not heard')
  expect(heard).toEqual([])
  for (const engine of engines) await engine.close()
})

test('the end of a database is told to who watches, who then meets it', async () => {
  const engine = await openSqliteEngine({ folder })
  const database = await open(engine)
  await createQueue(database)
  let calls = 0
  database.messages.watch(() => calls++)
  await engine.deleteDatabase('db')
  expect(calls).toBeGreaterThan(0)
  await expect(database.messages.look([1])).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
  expect(() => database.messages.watch(() => undefined)).toThrow('db')
  await engine.close()
})

test('a restored copy ends locks, counts their deliveries, and gives no number twice', async () => {
  const engine = await openSqliteEngine({ folder })
  const database = await open(engine)
  const queue = await createQueue(database)
  await send(database, queue, 'locked')
  await receive(database, queue)
  const copy = join(parent, 'copy')
  await copySqliteStore({ from: folder, to: copy })
  await engine.close()
  const restored = await openSqliteEngine({ folder: copy })
  const again = await open(restored)
  const { answer } = await send(again, queue, 'new')
  expect(answer).toMatchObject({ parcels: [{ numbers: [expect.any(Number)] }] })
  expect(await receive(again, queue)).toEqual(['locked', 'new'])
  const { answer: peeked } = await again.messages.perform<'peek'>(
    {
      kind: 'peek',
      entity: queue,
      touch: false,
      session: undefined,
      fromNumber: 1,
      max: 9,
      maxBytes: 999,
    },
    CALLER,
  )
  expect(peeked).toMatchObject({ messages: [{ number: 1, deliveries: 1 }, { deliveries: 0 }] })
  const numbers = peeked.kind === 'peeked' ? peeked.messages.map(({ number }) => number) : []
  expect(numbers[1]).toBeGreaterThan(2 ** 40)
  expect(await again.check()).toEqual([])
  await restored.close()
})

test('numbers that a machine may have lost with its last commits are not given again', async () => {
  const dying = await openTestedEngine({ folder, durability: 'relaxed', bootId: 'boot-1' })
  const queue = await createQueue(await open(dying))
  // Not closed: the machine went, and what was sent since may be lost.
  const engine = await openTestedEngine({ folder, bootId: 'boot-2' })
  const database = await open(engine)
  const { answer } = await send(database, queue, 'a')
  expect(answer).toMatchObject({ parcels: [{ numbers: [2 ** 20 + 1] }] })
  expect(await createQueue(database, 'other')).toBeGreaterThan(1000)
  expect(await database.check()).toEqual([])
  await engine.close()
  await dying.close()
})

test('a check names what no transaction can leave', async () => {
  const engine = await openSqliteEngine({ folder })
  const database = await open(engine)
  const queue = await createQueue(database)
  await send(database, queue, 'a', 'b')
  await inFile((file) => {
    file.exec('DELETE FROM message_body WHERE id = 1')
    file.exec('UPDATE message SET number = 99, lock = 1 WHERE id = 2')
    file.exec('UPDATE entity SET bytes = 5 WHERE number = 1')
    file.exec("UPDATE entity_definition SET definition = '{' WHERE entity = 2")
    file.exec("UPDATE message SET changes = '{' WHERE id = 2")
    file.exec("UPDATE entity SET key = NULL WHERE kind = 'deadLetter'")
  })
  expect(await database.check()).toEqual([
    'message 1 has no body',
    'message 2 has a number that is not given out yet',
    'entity 2 has a definition that is no JSON',
    'message 2 has changes that are no JSON',
    'entity 1 has no dead-letter queue',
    'message 2 has a lock without an end, or the reverse',
    'orders holds 2 bytes, not 5',
  ])
  await engine.close()
})

test('a message that has lost its body is given to nobody, and takes no other along', async () => {
  const engine = await openSqliteEngine({ folder })
  const database = await open(engine)
  const queue = await createQueue(database)
  await send(database, queue, 'a', 'b', 'c')
  await inFile((file) => file.exec('DELETE FROM message_body WHERE id IN (1, 3)'))
  const deletes = { mode: 'receiveAndDelete', max: 3, maxBytes: 100, lock: LOCK } as const
  const command = { kind: 'receive', entity: queue, touch: false, hold: undefined } as const
  const { answer } = await database.messages.perform<'receive'>(
    { ...command, requests: [deletes] },
    CALLER,
  )
  expect(answer).toMatchObject({ deliveries: [[{ message: { number: 2 } }]] })
  await send(database, queue, 'd')
  expect(await receive(database, queue)).toEqual(['d'])
  expect(await database.check()).toEqual(['message 1 has no body', 'message 3 has no body'])
  await engine.close()
})

test('a message is not dead-lettered into nothing, and a number is not given twice', async () => {
  const engine = await openSqliteEngine({ folder })
  const database = await open(engine)
  const queue = await createQueue(database)
  await send(database, queue, 'a')
  expect(await receive(database, queue)).toEqual(['a'])
  await inFile((file) => file.exec("UPDATE entity SET key = NULL WHERE kind = 'deadLetter'"))
  const outcome = {
    kind: 'deadLetter',
    changes: undefined,
    reason: undefined,
    description: undefined,
  } as const
  const dispositions = [{ token: lockToken(1, LOCK), outcome }]
  const settled = database.messages.perform<'settle'>(
    { kind: 'settle', entity: queue, touch: false, dispositions },
    CALLER,
  )
  await expect(settled).rejects.toMatchObject({ code: 'ERR_STORE_DAMAGED' })
  await inFile((file) => file.exec('UPDATE entity SET next = 1 WHERE number = 1'))
  await expect(send(database, queue, 'b')).rejects.toMatchObject({ code: 'ERR_STORE_DAMAGED' })
  expect(await inFile((file) => file.prepare('SELECT id FROM message').all())).toHaveLength(1)
  await inFile((file) => file.exec("UPDATE entity_definition SET definition = '{'"))
  const other = await openSqliteEngine({ folder })
  const { messages } = await open(other)
  const damaged = { code: 'ERR_STORE_DAMAGED', message: expect.stringContaining('entity 1') }
  await expect(messages.readCatalog()).rejects.toMatchObject(damaged)
  await other.close()
  await engine.close()
})
