import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FULL_RANGE } from '@tidemark/contracts'
import { Store } from '@tidemark/store'
import type {
  CollectionRecord,
  CommitBatch,
  CommitOutcome,
  DatabaseEngine,
} from '@tidemark/store/engine'
import type { CommandOf, EntitySettings } from '@tidemark/store/messages'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openMemoryEngine } from './memory-engine.ts'
import { openSqliteEngine } from './sqlite-engine.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const CALLER = { lockMs: undefined }
const ROOM = 100
const settings: EntitySettings = {
  lockDurationMs: 60_000,
  maxDeliveryCount: 10,
  defaultTtlMs: undefined,
  deadLettersExpired: false,
  deadLettersFilterErrors: false,
  requiresSession: false,
  duplicateWindowMs: 60_000,
  autoDeleteOnIdleMs: 60_000,
  forwardTo: undefined,
  forwardDeadLettersTo: undefined,
  maxBytes: ROOM,
  maxMessageBytes: 2 ** 20,
  status: 'Active',
  userMetadata: '',
}

/** Two queues and a collection. */
class Tested {
  readonly database: DatabaseEngine
  readonly first: number
  readonly second: number
  readonly #collection: CollectionRecord

  private constructor(database: DatabaseEngine, collection: CollectionRecord, queues: number[]) {
    this.database = database
    this.#collection = collection
    const [first = 0, second = 0] = queues
    this.first = first
    this.second = second
  }

  static async in(store: Store): Promise<Tested> {
    const { id } = await store.createDatabase('db')
    const documents = await store.database(id).createCollection({ id: 'c', partitionKey: '/pk' })
    const { engine: database, record: collection } = await documents.open()
    const { answer } = await database.messages.perform<'create'>(
      {
        kind: 'create',
        entities: ['a', 'b'].map((path) => ({ kind: 'queue', path, settings, rules: [] })),
      },
      CALLER,
    )
    if (answer.kind !== 'created') throw new Error(answer.kind)
    const queues = answer.entities.flatMap(({ kind, number }) => (kind === 'queue' ? number : []))
    return new Tested(database, collection, queues)
  }

  command(entity: number, id: string, bytes: number = 1): CommandOf<'send'> {
    const message = {
      head: '{}',
      body: new TextEncoder().encode(id),
      bytes,
      messageId: id,
      session: undefined,
      ttlMs: undefined,
      scheduledMs: undefined,
      copies: [],
    }
    return { kind: 'send', entity, touch: true, version: 1, parcels: [{ messages: [message] }] }
  }

  /** A document whose text is its id, and messages. */
  commit(id: string, commands?: readonly CommandOf<'send'>[]): Promise<CommitOutcome> {
    const batch: CommitBatch = {
      collection: this.#collection.number,
      epk: '00',
      partitionKey: 'pk',
      operations: [{ kind: 'put', id, condition: { kind: 'absent' }, rid: id, body: id, ttl: 0 }],
    }
    const sends = commands && { commands, caller: CALLER }
    return this.database.commit({ batches: [batch], sends })
  }

  send(command: CommandOf<'send'>) {
    return this.database.messages.perform<'send'>(command, CALLER)
  }

  /** Their texts. */
  async documents(): Promise<readonly string[]> {
    const { versions } = await this.database.scan({
      collection: this.#collection,
      range: FULL_RANGE,
      maxItems: 100,
      maxChars: 2 ** 20,
    })
    return versions.map(({ body }) => body)
  }

  /** Ids and numbers. */
  async messages(entity: number): Promise<readonly (readonly [string, number])[]> {
    const { answer } = await this.database.messages.perform<'peek'>(
      {
        kind: 'peek',
        entity,
        touch: false,
        session: undefined,
        fromNumber: 0,
        max: 100,
        maxBytes: 2 ** 20,
      },
      CALLER,
    )
    if (answer.kind !== 'peeked') throw new Error(answer.kind)
    return answer.messages.map(({ body, number }) => [new TextDecoder().decode(body), number])
  }
}

describe.each(['memory', 'folder'] as const)('in %s', (where) => {
  test('a refused message undoes what its own commit sent, and nothing else of the group', async () => {
    const engine = where === 'memory' ? openMemoryEngine() : await openSqliteEngine({ folder })
    await using store = await Store.open({ engine })
    const tested = await Tested.in(store)
    const { first, second, database } = tested
    const told: (readonly number[] | undefined)[] = []
    database.messages.watch((entities) => told.push(entities))
    // Asked for in one turn, so carried out as one transaction.
    const [a, before, refused, taken, c, duplicate, after] = await Promise.all([
      tested.commit('a'),
      tested.send(tested.command(first, 'before')),
      tested.commit('b', [tested.command(first, 'undone'), tested.command(second, 'x', ROOM + 1)]),
      tested.commit('a', [tested.command(first, 'never')]),
      tested.commit('c', [tested.command(first, 'kept'), tested.command(second, 'too')]),
      tested.commit('d', [tested.command(first, 'kept')]),
      tested.send(tested.command(first, 'undone')),
    ])
    expect([a.kind, refused, taken.kind, c.kind, duplicate.kind]).toEqual([
      'committed',
      { kind: 'notSent', index: 1, answer: { kind: 'full' } },
      'refused',
      'committed',
      'committed',
    ])
    expect(before.answer).toMatchObject({ parcels: [{ numbers: [1] }] })
    // The id that was undone is no duplicate.
    expect(after.answer).toMatchObject({ parcels: [{ numbers: [3] }] })
    expect(await tested.documents()).toEqual(['a', 'c', 'd'])
    expect(await tested.messages(first)).toEqual([
      ['before', 1],
      ['kept', 2],
      ['undone', 3],
    ])
    expect(await tested.messages(second)).toEqual([['too', 1]])
    expect(told).toEqual([[first], [first, second], [first]])
    expect(await database.check()).toEqual([])
  })
})

test('another process is told of the messages of a commit', async () => {
  await using store = await Store.open({ engine: await openSqliteEngine({ folder }) })
  const tested = await Tested.in(store)
  const other = await openSqliteEngine({ folder })
  const { messages } = await other.openDatabase('db')
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const endWatch = messages.watch(resolve)
  await tested.commit('a', [tested.command(tested.first, 'm')])
  expect(await promise).toBeUndefined()
  endWatch()
  await other.close()
})
