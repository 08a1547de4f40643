import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import {
  DocumentTooLargeError,
  effectivePartitionKey,
  FULL_RANGE,
  InvalidDocumentError,
  lsn,
  partitionKeyDefinition,
  StoreUnavailableError,
  type Change,
  type DeadLetter,
  type DocumentBody,
  type Stored,
} from '@tidemark/contracts'
import { FakeDocumentCollection, SimulatedClock } from '@tidemark/testing'
import { deadLetterOf } from './dead-letter-of.ts'
import { DocumentDeadLetters } from './document-dead-letters.ts'

const never = new AbortController().signal
const EPK_MIDDLE = '20'
const LOW = { minInclusive: '', maxExclusive: EPK_MIDDLE }
const HIGH = { minInclusive: EPK_MIDDLE, maxExclusive: 'FF' }

interface Item extends DocumentBody {
  readonly text?: string
}

function setUp(hooks: Partial<ConstructorParameters<typeof FakeDocumentCollection>[0]> = {}): {
  readonly clock: SimulatedClock
  readonly collection: FakeDocumentCollection
  readonly letters: DocumentDeadLetters
} {
  const clock = new SimulatedClock()
  const collection = new FakeDocumentCollection({ clock, id: 'orders-deadletters', ...hooks })
  return { clock, collection, letters: new DocumentDeadLetters(collection, { clock }) }
}

function stored(id: string, text?: string): Stored<Item> {
  const body = text === undefined ? { id } : { id, text }
  return { ...body, _rid: 'r', _self: 's', _etag: '"1"', _ts: 1, _lsn: 1 }
}

function letterFor(
  n: number,
  over: { readonly text?: string; readonly group?: string; readonly change?: Change<Item> } = {},
): DeadLetter<Item> {
  const id = `o${n}`
  const document = stored(id, over.text)
  const change: Change<Item> = over.change ?? {
    kind: 'document',
    id,
    partitionKey: id,
    lsn: lsn(n),
    committedAtMs: 0,
    document,
  }
  const found = { range: FULL_RANGE, attempts: 3, hostName: 'a', failedAtMs: 1_000 }
  return deadLetterOf<Item>({
    group: over.group ?? 'g',
    feed: 'f',
    change,
    error: new TypeError('poison'),
    ...found,
  })
}

function epkOf(key: string, version: 1 | 2 = 2): string {
  return effectivePartitionKey([key], partitionKeyDefinition('/key', version))
}

async function redriveAll(letters: DocumentDeadLetters, group = 'g'): Promise<void> {
  await letters.redrive({ group, letters: 'all' })
}

const taken = async (
  letters: DocumentDeadLetters,
  range = FULL_RANGE,
): Promise<readonly string[]> =>
  (await letters.takeRedriven({ group: 'g', range, signal: never })).map(({ change }) => change.id)

/** Those who overtake one another wait. */
async function passingTime(clock: SimulatedClock, work: Promise<unknown>): Promise<void> {
  let isSettled = false
  const watched = work.finally(() => (isSettled = true))
  watched.catch(() => {})
  await clock.advanceUntil(() => isSettled, { limitMs: 600_000, stepMs: 10 })
  await watched
}

/** Every document that is in the collection. */

const contentsOf = async (collection: FakeDocumentCollection): Promise<readonly string[]> => {
  const ids: string[] = []
  for (const key of ['$groups', 'index:g']) {
    const { documents } = await collection.readPartition(key)
    ids.push(...documents.map(({ id }) => `${key} ${id}`))
  }
  for (let n = 0; n < 100; n += 1) {
    const { documents } = await collection.readPartition(`letter:${letterFor(n).id}`)
    ids.push(...documents.map(({ id }) => `letter ${id}`))
  }
  return ids
}

describe('PH-7 dead letters as documents', () => {
  test('a letter is kept whole, and listed without its change', async () => {
    const { letters } = setUp()
    const letter = letterFor(1, { text: 'x' })
    await letters.put(letter)
    expect(await letters.read(letter.id)).toEqual(letter)
    const { letters: listed, continuation } = await letters.list({ group: 'g' })
    expect(continuation).toBeUndefined()
    expect(listed).toEqual([
      {
        id: letter.id,
        group: 'g',
        state: 'kept',
        lsn: 1,
        kind: 'document',
        documentId: 'o1',
        partitionKey: '["o1"]',
        epk: epkOf('o1'),
        error: { name: 'TypeError', message: 'poison' },
        attempts: 3,
        hostName: 'a',
        failedAtMs: 1_000,
        redrives: 0,
      },
    ])
    expect(await letters.listGroups()).toEqual(['g'])
  })

  test('the same letter put again is one letter, with what was found last', async () => {
    const { letters } = setUp()
    await letters.put(letterFor(1))
    await letters.put({ ...letterFor(1), attempts: 9, hostName: 'b' })
    const { letters: listed } = await letters.list({ group: 'g' })
    expect(listed).toMatchObject([{ attempts: 9, hostName: 'b', state: 'kept' }])
    expect(await letters.read(letterFor(1).id)).toMatchObject({ attempts: 9 })
  })

  test('hosts that put the same letters at once keep each of them once', async () => {
    const { collection, clock, letters } = setUp()
    const hosts = [letters, new DocumentDeadLetters(collection, { clock })]
    const puts = hosts.flatMap((host, index) =>
      [1, 2, 3].map((n) => host.put({ ...letterFor(n), hostName: `host${index}` })),
    )
    await passingTime(clock, Promise.all(puts))
    const { letters: listed } = await letters.list({ group: 'g' })
    expect(listed.map(({ lsn: at, state }) => [at, state])).toEqual([
      [1, 'kept'],
      [2, 'kept'],
      [3, 'kept'],
    ])
    for (const n of [1, 2, 3]) expect(await letters.read(letterFor(n).id)).toBeDefined()
  })

  test('groups are kept apart', async () => {
    const { letters } = setUp()
    await letters.put(letterFor(1))
    await letters.put(letterFor(1, { group: 'other' }))
    await redriveAll(letters, 'other')
    expect(await taken(letters)).toEqual([])
    expect(await letters.drop({ group: 'other', letters: 'all' })).toMatchObject({ missing: [] })
    expect((await letters.list({ group: 'g' })).letters).toHaveLength(1)
    expect((await letters.list({ group: 'other' })).letters).toEqual([])
  })

  test.each<readonly [string, Change<Item>]>([
    [
      'of a document without a partition key',
      { ...letterFor(1).change, partitionKey: undefined } as Change<Item>,
    ],
    [
      'of a hierarchical key with a missing part',
      { ...letterFor(1).change, partitionKey: ['t', undefined, null] } as Change<Item>,
    ],
    [
      'of a pending delete',
      {
        kind: 'pendingDelete',
        id: 'o1',
        partitionKey: 5,
        lsn: lsn(1),
        committedAtMs: 0,
        lastVersion: stored('o1'),
        expiredAtMs: 7,
      },
    ],
    [
      'of a version',
      {
        kind: 'version',
        id: 'o1',
        partitionKey: true,
        lsn: lsn(1),
        crts: 5,
        operationType: 'replace',
        timeToLiveExpired: false,
        current: stored('o1', 'new'),
        previous: stored('o1', 'old'),
      },
    ],
  ])('a letter %s comes back as it was', async (_, change) => {
    const { letters } = setUp()
    const letter = letterFor(1, { change })
    await letters.put(letter)
    await redriveAll(letters)
    expect(await letters.takeRedriven({ group: 'g', range: FULL_RANGE, signal: never })).toEqual([
      letter,
    ])
  })

  test('a list is in the order of LSNs, by pages, and of one range', async () => {
    const { letters } = setUp()
    for (const n of [5, 30, 4, 100, 7]) await letters.put(letterFor(n))
    const first = await letters.list({ group: 'g', maxItemCount: 3 })
    expect(first.letters.map(({ lsn: at }) => at)).toEqual([4, 5, 7])
    const { continuation } = first
    const second = await letters.list({ group: 'g', maxItemCount: 3, continuation })
    expect(second.letters.map(({ lsn: at }) => at)).toEqual([30, 100])
    expect(second.continuation).toBeUndefined()
    const low = await letters.list({ group: 'g', range: LOW })
    const high = await letters.list({ group: 'g', range: HIGH })
    expect(low.letters.length + high.letters.length).toBe(5)
    for (const { epk } of low.letters) expect(epk < EPK_MIDDLE).toBe(true)
  })

  test('what is wrong is refused: another partition key, a bad page size, a bad poll interval', async () => {
    const { clock, letters } = setUp()
    const wrong = new FakeDocumentCollection({ clock, partitionKeyPaths: ['/id'] })
    await expect(new DocumentDeadLetters(wrong).put(letterFor(1))).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
    })
    expect(wrong.requests.get('create')).toBeUndefined()
    await expect(letters.list({ group: 'g', maxItemCount: 0 })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
    })
    expect(() => new DocumentDeadLetters(wrong, { redriveCacheMs: -1 })).toThrow('redriveCacheMs')
    for (const [call, message] of [
      [() => letters.list({ gruop: 'g' } as never), 'did you mean group?'],
      [() => letters.list({} as never), 'group must be a text'],
      [() => letters.redrive({ group: 'g' } as never), "letters must be 'all' or a list of ids"],
      [() => letters.drop({ group: 'g', letters: 'some' } as never), 'letters must be'],
    ] as const) {
      await expect(call()).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTION',
        message: expect.stringContaining(message),
      })
    }
  })
})

describe('big changes', () => {
  /** A store with a limit, and one that takes no NUL. */
  function limited(limit: number): ReturnType<typeof setUp> {
    const all = setUp()
    const { collection } = all
    for (const method of ['create', 'replace', 'upsert'] as const) {
      const write = collection[method].bind(collection)
      collection[method] = async (document, options) => {
        refuse(document)
        return write(document, options)
      }
    }
    const refuse = (document: DocumentBody): void => {
      const text = JSON.stringify(document)
      if (Buffer.byteLength(text) > limit) throw new DocumentTooLargeError('too large')
      if (text.includes('\\u0000') && !text.includes('\\\\u0000')) {
        throw new InvalidDocumentError('NUL')
      }
    }
    return all
  }

  const TWO_MIB = 2 * 1024 * 1024

  test.each([
    ['ASCII', 'x'.repeat(TWO_MIB)],
    ['quotes, which double', '"'.repeat(TWO_MIB / 2)],
    ['backslashes', '\\'.repeat(TWO_MIB / 2)],
    ['control characters', '\u0001'.repeat(TWO_MIB / 6)],
    ['three bytes a character', '€'.repeat(TWO_MIB / 3)],
    ['surrogate pairs at every cut', `x${'😀'.repeat(TWO_MIB / 4)}`],
    ['halves of pairs', '\uD800'.repeat(TWO_MIB / 6)],
  ])('a document as large as the store takes is kept whole: %s', async (_, text) => {
    const { letters } = limited(TWO_MIB)
    const letter = letterFor(1, { text })
    await letters.put(letter)
    expect(await letters.read(letter.id)).toEqual(letter)
  })

  test('a version with both images, in a store that takes only small documents', async () => {
    const { letters, collection } = limited(10_000)
    const image = (name: string): Stored<Item> => stored('o1', name.repeat(50_000))
    const letter = letterFor(1, {
      change: {
        kind: 'version',
        id: 'o1',
        partitionKey: 'o1',
        lsn: lsn(1),
        crts: 5,
        operationType: 'replace',
        timeToLiveExpired: false,
        current: image('n€'),
        previous: image('o"'),
      },
    })
    await letters.put(letter)
    const read = await letters.read(letter.id)
    expect(read?.change).toEqual(letter.change)
    expect(read?.error.stack?.length).toBeLessThan(letter.error.stack?.length ?? 0)
    await letters.drop({ group: 'g', letters: [letter.id] })
    expect(await contentsOf(collection)).toEqual([`$groups g`])
  })

  test('a document whose partition key is as large as the document', async () => {
    const { letters } = limited(TWO_MIB)
    const key = 'k'.repeat(TWO_MIB)
    const letter = letterFor(1, { change: { ...letterFor(1).change, partitionKey: key } })
    await letters.put(letter)
    await redriveAll(letters)
    expect(await letters.takeRedriven({ group: 'g', range: FULL_RANGE, signal: never })).toEqual([
      letter,
    ])
    const { letters: listed } = await letters.list({ group: 'g' })
    expect(listed[0]?.partitionKey).toHaveLength(1_000)
  })

  test('what the store cannot keep as it is, it keeps as text', async () => {
    const { letters } = limited(TWO_MIB)
    const letter = letterFor(1, { text: 'a\0b' })
    await letters.put(letter)
    expect(await letters.read(letter.id)).toEqual(letter)
  })

  test('a store with no room at all says so, and the letter is not said to be kept', async () => {
    const { letters } = limited(600)
    await expect(letters.put(letterFor(1, { text: 'x'.repeat(5_000) }))).rejects.toMatchObject({
      code: 'ERR_DOCUMENT_TOO_LARGE',
    })
    expect((await letters.list({ group: 'g' })).letters).toMatchObject([{ state: 'arriving' }])
  })
})

describe('redrive', () => {
  test('letters that were sent back are taken by whoever has their keys, oldest first, until they are settled', async () => {
    const { letters, clock } = setUp()
    for (const n of [4, 3, 2, 1]) await letters.put(letterFor(n))
    expect(await taken(letters)).toEqual([])
    const { done } = await letters.redrive({
      group: 'g',
      letters: [3, 1, 2].map((n) => letterFor(n).id),
    })
    expect(done).toEqual([1, 2, 3].map((n) => letterFor(n).id))
    expect(await taken(letters)).toEqual([])
    await clock.advance(1_000)
    expect(await taken(letters)).toEqual(['o1', 'o2', 'o3'])
    const low = await taken(letters, LOW)
    const high = await taken(letters, HIGH)
    expect([...low, ...high].sort()).toEqual(['o1', 'o2', 'o3'])
    for (const id of low) expect(epkOf(id) < EPK_MIDDLE).toBe(true)
    await letters.settle(letterFor(1))
    expect(await taken(letters)).toEqual(['o2', 'o3'])
    expect(await letters.read(letterFor(1).id)).toBeUndefined()
    const { letters: listed } = await letters.list({ group: 'g' })
    expect(listed.map(({ lsn: at, state, redrives }) => [at, state, redrives])).toEqual([
      [2, 'redriven', 1],
      [3, 'redriven', 1],
      [4, 'kept', 0],
    ])
  })

  test('nothing new costs one point read in a second, whatever the number of leases', async () => {
    const { letters, clock, collection } = setUp()
    await letters.put(letterFor(1))
    await taken(letters)
    collection.requests.clear()
    for (let round = 0; round < 10; round += 1) {
      await clock.advance(100)
      await Promise.all([taken(letters, LOW), taken(letters, HIGH), taken(letters)])
    }
    expect([...collection.requests]).toEqual([['read', 1]])
  })

  test('a letter that fails again is kept again, and is not handed out until it is sent back again', async () => {
    const { letters, clock } = setUp()
    await letters.put(letterFor(1))
    await redriveAll(letters)
    expect(await taken(letters)).toEqual(['o1'])
    await letters.put({ ...letterFor(1), attempts: 4 })
    await clock.advance(5_000)
    expect(await taken(letters)).toEqual([])
    expect((await letters.list({ group: 'g' })).letters).toMatchObject([
      { state: 'kept', attempts: 4, redrives: 1 },
    ])
    await redriveAll(letters)
    await clock.advance(1_000)
    expect(await taken(letters)).toEqual(['o1'])
    expect((await letters.list({ group: 'g' })).letters).toMatchObject([{ redrives: 2 }])
  })

  test('another host that takes over gets what was not settled; what was dropped meanwhile it does not get', async () => {
    const { letters, clock, collection } = setUp()
    for (const n of [1, 2, 3]) await letters.put(letterFor(n))
    await redriveAll(letters)
    expect(await taken(letters)).toEqual(['o1', 'o2', 'o3'])
    const other = new DocumentDeadLetters(collection, { clock })
    expect(await taken(other)).toEqual(['o1', 'o2', 'o3'])
    await other.settle(letterFor(1))
    await other.drop({ group: 'g', letters: [letterFor(2).id] })
    expect(await taken(letters)).toEqual(['o3'])
  })

  test('a late settle of an earlier owner does not remove a letter that was put again', async () => {
    const { letters, clock, collection } = setUp()
    const other = new DocumentDeadLetters(collection, { clock })
    await letters.put(letterFor(1))
    await redriveAll(letters)
    await taken(letters)
    await other.put({ ...letterFor(1), attempts: 4 })
    await letters.settle(letterFor(1))
    expect(await letters.read(letterFor(1).id)).toMatchObject({ attempts: 4 })
  })

  test('a few at a time: by number and by size', async () => {
    const { letters } = setUp()
    for (let n = 1; n <= 20; n += 1) await letters.put(letterFor(n))
    await redriveAll(letters)
    expect(await taken(letters)).toHaveLength(8)
    const big = setUp()
    for (let n = 1; n <= 4; n += 1) {
      await big.letters.put(letterFor(n, { text: 'x'.repeat(2_200_000) }))
    }
    await redriveAll(big.letters)
    expect(await taken(big.letters)).toHaveLength(2)
  })

  test('of a collection whose keys are hashed by version 1, the lease that has the key gets the letter', async () => {
    const { collection, clock } = setUp()
    const letters = new DocumentDeadLetters(collection, { clock, partitionKeyVersion: 1 })
    await letters.put(letterFor(1))
    await redriveAll(letters)
    const at = epkOf('o1', 1)
    expect(await taken(letters, { minInclusive: at, maxExclusive: 'FF' })).toEqual(['o1'])
    expect(await taken(letters, { minInclusive: '', maxExclusive: at })).toEqual([])
  })

  test('names that are not there are told, and the rest is done', async () => {
    const { letters } = setUp()
    await letters.put(letterFor(1))
    const choice = { group: 'g', letters: ['nothing', letterFor(1).id] }
    expect(await letters.redrive(choice)).toEqual({ done: [letterFor(1).id], missing: ['nothing'] })
    // Repeated, it is done too.
    expect(await letters.redrive(choice)).toEqual({ done: [letterFor(1).id], missing: ['nothing'] })
    expect(await letters.drop(choice)).toEqual({ done: [letterFor(1).id], missing: ['nothing'] })
    expect(await letters.drop(choice)).toEqual({ done: [], missing: choice.letters })
  })

  test('a taker that is told to stop does, also while the store does not answer', async () => {
    const gate = Promise.withResolvers<void>()
    const { letters } = setUp({
      before: (method) => (method === 'read' ? gate.promise : undefined),
    })
    const abort = new AbortController()
    const taking = letters.takeRedriven({ group: 'g', range: FULL_RANGE, signal: abort.signal })
    abort.abort(new Error('enough'))
    await expect(taking).rejects.toThrow('enough')
    gate.resolve()
  })

  test('more than a hundred letters are sent back, also when others write some of them meanwhile', async () => {
    const { letters, collection } = setUp()
    for (let n = 1; n <= 130; n += 1) await letters.put(letterFor(n))
    const batch = collection.batch.bind(collection)
    collection.batch = async (...args) => {
      collection.batch = batch
      await letters.drop({ group: 'g', letters: [letterFor(50).id] })
      return batch(...args)
    }
    const { done } = await letters.redrive({ group: 'g', letters: 'all' })
    expect(done).toHaveLength(129)
    const { letters: listed } = await letters.list({ group: 'g' })
    expect(listed.filter(({ state }) => state === 'redriven')).toHaveLength(129)
  })
})

describe('deaths', () => {
  let failAt = Infinity
  let requests = 0
  afterEach(() => {
    failAt = Infinity
  })

  function dying(): ReturnType<typeof setUp> {
    requests = 0
    return setUp({
      after: () => {
        requests += 1
        if (requests > failAt) throw new StoreUnavailableError('dead')
      },
    })
  }

  const survivor = (collection: FakeDocumentCollection): DocumentDeadLetters => {
    failAt = Infinity
    return new DocumentDeadLetters(collection, { clock: new SimulatedClock() })
  }

  test('a host that dies at any request of a put leaves a letter that is whole or comes again, and nothing that is not listed', async () => {
    const big = letterFor(1, { text: 'x'.repeat(1_500_000) })
    for (let step = 0; ; step += 1) {
      failAt = Infinity
      const { letters, collection } = dying()
      failAt = step
      const died = await letters.put(big).then(
        () => false,
        () => true,
      )
      const other = survivor(collection)
      const { letters: listed } = await other.list({ group: 'g' })
      expect((await contentsOf(collection)).length > 1).toBe(listed.length === 1)
      if (listed[0]?.state === 'kept') expect(await other.read(big.id)).toEqual(big)
      else expect(died).toBe(true)
      await other.put(big)
      expect(await other.read(big.id)).toEqual(big)
      expect((await other.list({ group: 'g' })).letters).toMatchObject([{ state: 'kept' }])
      await other.drop({ group: 'g', letters: 'all' })
      expect(await contentsOf(collection)).toEqual(['$groups g'])
      if (!died) {
        expect(step).toBeGreaterThan(5)
        break
      }
    }
  })

  test('a host that dies at any request of a settle leaves the letter sent back, or one that goes when others look', async () => {
    for (let step = 0; ; step += 1) {
      failAt = Infinity
      const { letters, collection } = dying()
      await letters.put(letterFor(1))
      await redriveAll(letters)
      requests = 0
      failAt = step
      const died = await letters.settle(letterFor(1)).then(
        () => false,
        () => true,
      )
      const other = survivor(collection)
      const again = await taken(other)
      if (again.length > 0) await other.settle(letterFor(1))
      expect(await contentsOf(collection)).toEqual(['$groups g'])
      if (!died) {
        expect(step).toBeGreaterThan(4)
        break
      }
    }
  })

  test('a letter that its host had not put away completely is no longer there when it is sent back', async () => {
    const { letters, collection } = dying()
    const upsert = collection.upsert.bind(collection)
    collection.upsert = () => Promise.reject(new StoreUnavailableError('dead'))
    await expect(letters.put(letterFor(1))).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
    collection.upsert = upsert
    const other = survivor(collection)
    await redriveAll(other)
    expect(await taken(other)).toEqual([])
    expect(await contentsOf(collection)).toEqual(['$groups g'])
  })
})

test('PH-7 puts, settles, redrives and drops of several handles at once, in any order, leave whole letters or none', async () => {
  const action = fc.record({
    handle: fc.nat(2),
    kind: fc.constantFrom('put', 'put', 'settle', 'drop', 'redrive', 'take'),
    n: fc.integer({ min: 1, max: 2 }),
    big: fc.boolean(),
  })
  const actions = fc.array(action, { minLength: 2, maxLength: 14 })
  /** Of each request, in turns of the event loop: a slow one is overtaken by several others. */
  const latencies = fc.array(fc.constantFrom(0, 0, 0, 1, 2, 8), { minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(actions, latencies, async (chosen, turns) => {
      let request = 0
      const { collection, clock } = setUp({
        before: async () => {
          request += 1
          const wait = turns[request % turns.length] ?? 0
          for (let turn = 0; turn < wait; turn += 1) await setImmediate()
        },
      })
      const handles = [0, 1, 2].map(
        () => new DocumentDeadLetters(collection, { clock, redriveCacheMs: 0 }),
      )
      const run = async ({ handle, kind, n, big }: (typeof chosen)[number]): Promise<void> => {
        const letters = handles[handle]!
        const letter = letterFor(n, { text: big ? 'x'.repeat(600_000) : 'x' })
        if (kind === 'put') await letters.put(letter)
        else if (kind === 'settle') await letters.settle(letter)
        else if (kind === 'take') await taken(letters)
        else await letters[kind]({ group: 'g', letters: [letter.id] })
      }
      await passingTime(clock, Promise.all(chosen.map(run)))
      const { letters: listed } = await handles[0]!.list({ group: 'g' })
      for (const { id, state } of listed) {
        expect(['kept', 'redriven']).toContain(state)
        const read = await handles[0]!.read<Item>(id)
        expect(read?.change.kind === 'document' && read.change.document.text).toMatch(/^x+$/)
      }
      await handles[0]!.drop({ group: 'g', letters: 'all' })
      expect((await contentsOf(collection)).filter((id) => id !== '$groups g')).toEqual([])
    }),
    { numRuns: 40, examples: [[REMOVED_BETWEEN, [0, 1, 1, 8, 0, 0]]] },
  )
})

/** A letter is put between the moment at which its removal begins and the one at which it looks what to remove. */
const REMOVED_BETWEEN = (
  [
    ['put', 1],
    ['put', 2],
    ['put', 1],
    ['drop', 1],
    ['put', 1],
    ['put', 1],
    ['settle', 1],
    ['put', 1],
    ['settle', 1],
    ['drop', 2],
    ['redrive', 1],
  ] as const
).map(([kind, n]) => ({ handle: 0, kind, n, big: false }))
