import {
  FULL_RANGE,
  cutPage,
  decodeContinuation,
  encodeContinuation,
  lsn,
  rangeContainsEpk,
} from '@tidemark/contracts'
import type { Continuation, FeedPosition, FeedRange, StartPosition } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import { settle } from '../../platform/settle.ts'
import {
  allPages,
  idsOf,
  makeCollection,
  makeTimed,
  rejection,
  thrown,
  type OpenStore,
  type TestCollection,
} from './fixtures.ts'

/** The feed as processors read it: range by range, by continuation. */
export function collectionFeed(open: OpenStore): void {
  const start = (
    collection: TestCollection,
    position: StartPosition,
    range: FeedRange = FULL_RANGE,
  ): Promise<FeedPosition> => collection.resolveStart({ range, start: position })

  describe('feed pages', () => {
    test('CF-1 CF-2 CF-7 carry changes in LSN order, each document once', async () => {
      const collection = await makeCollection(await open())
      for (const id of ['a', 'b', 'c', 'a']) await collection.upsert({ id, pk: 'p' })
      const { continuation, lsn: first } = await start(collection, 'beginning')
      expect(first).toBe(0)
      const page = await collection.readPage({ range: FULL_RANGE, continuation })
      expect(page.changes.map(({ kind, id, partitionKey }) => [kind, id, partitionKey])).toEqual([
        ['document', 'b', 'p'],
        ['document', 'c', 'p'],
        ['document', 'a', 'p'],
      ])
      const last = page.changes.at(-1)
      expect(page).toMatchObject({ lsn: last?.lsn, caughtUp: true })
      expect(last?.kind === 'document' && last.document).toEqual(
        (await collection.read('a', 'p')).document,
      )
    })

    test('CF-16 parts of a page have the positions that they would have if they were read alone', async () => {
      const collection = await makeCollection(await open())
      expect(collection.supports.cuttable).toBe(true)
      for (const [index, count] of [1, 3, 2, 1, 5, 1, 1].entries()) {
        const operations = Array.from({ length: count }, (_, n) => {
          return { kind: 'create' as const, document: { id: `${index}-${n}`, pk: 'p' } }
        })
        await collection.batch('p', operations)
        await collection.upsert({ id: 'again', pk: 'p' })
      }
      let { continuation } = await start(collection, 'beginning')
      const whole = await collection.readPage({ range: FULL_RANGE, continuation })
      const parts = cutPage(whole, 2)
      expect(parts.length).toBeGreaterThan(3)
      for (const part of parts) {
        const maxItemCount = part.changes.length
        const alone = await collection.readPage({ range: FULL_RANGE, continuation, maxItemCount })
        expect(idsOf(part.changes)).toEqual(idsOf(alone.changes))
        expect([part.continuation, part.lsn]).toEqual([alone.continuation, alone.lsn])
        expect(part.caughtUp).toBe(alone.caughtUp)
        continuation = part.continuation
      }
    })

    test('CF-7 a page is cut between transactions only; its continuation goes on right after it', async () => {
      const collection = await makeCollection(await open())
      const batch = (...ids: readonly string[]): Promise<unknown> =>
        collection.batch(
          'p',
          ids.map((id) => ({ kind: 'upsert' as const, document: { id, pk: 'p' } })),
        )
      await batch('a', 'b', 'c')
      await batch('d')
      await batch('e', 'f')
      const pages: (readonly string[])[] = []
      let { continuation } = await start(collection, 'beginning')
      for (;;) {
        const page = await collection.readPage({ range: FULL_RANGE, continuation, maxItemCount: 2 })
        pages.push(idsOf(page.changes))
        continuation = page.continuation
        if (page.caughtUp) break
      }
      expect(pages).toEqual([
        ['a', 'b', 'c'],
        ['d', 'e', 'f'],
      ])
    })

    test('CF-7 an empty page leaves the continuation usable', async () => {
      const collection = await makeCollection(await open())
      const { continuation } = await start(collection, 'beginning')
      const empty = await collection.readPage({ range: FULL_RANGE, continuation })
      expect(empty).toMatchObject({ changes: [], caughtUp: true })
      await collection.create({ id: 'a', pk: 'p' })
      const next = await collection.readPage({
        range: FULL_RANGE,
        continuation: empty.continuation,
      })
      expect(idsOf(next.changes)).toEqual(['a'])
      // A delete leaves nothing to read, and moves the position on.
      const { lsn: deleted } = await collection.delete('a', 'p')
      const after = await collection.readPage({
        range: FULL_RANGE,
        continuation: next.continuation,
      })
      expect(after).toMatchObject({ changes: [], caughtUp: true, lsn: deleted })
    })

    test('CF-5 ranges are read on their own, with LSNs of their own', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 4 })
      for (let n = 0; n < 40; n++) await collection.create({ id: `d${n}`, pk: `p${n}` })
      const seen: string[] = []
      for (const range of await collection.readFeedRanges()) {
        const { continuation } = await start(collection, 'beginning', range)
        const { changes } = await collection.readPage({ range, continuation })
        expect(changes.length).toBeGreaterThan(0)
        const { encoder } = await collection.open()
        for (const { partitionKey } of changes) {
          expect(rangeContainsEpk(range, encoder.encodeKey(partitionKey).epk)).toBe(true)
        }
        seen.push(...idsOf(changes))
      }
      expect(new Set(seen).size).toBe(40)
      expect(await rejection(start(collection, 'now'))).toBe('ERR_RANGE_GONE')
    })

    test('CF-6 now is after everything that was written, a time includes its second', async () => {
      const collection = await makeCollection(await open())
      const { document } = await collection.create({ id: 'a', pk: 'p' })
      const now = await start(collection, 'now')
      const then = await start(collection, new Date(document._ts * 1000 + 999))
      const future = await start(collection, new Date(document._ts * 1000 + 9e9))
      await collection.create({ id: 'b', pk: 'p' })
      const read = async ({ continuation }: FeedPosition): Promise<readonly string[]> =>
        idsOf((await collection.readPage({ range: FULL_RANGE, continuation })).changes)
      expect(await read(now)).toEqual(['b'])
      expect(await read(then)).toEqual(['a', 'b'])
      expect(await read(future)).toEqual(['b'])
      const again = await start(collection, {
        continuation: now.continuation,
      })
      expect(again).toEqual(now)
    })

    test('CF-8 a continuation that does not fit is refused, saying why', async () => {
      const store = await open()
      const collection = await makeCollection(store, { partitionCount: 2 })
      const other = await makeCollection(store, { id: 'other', partitionCount: 2 })
      const [low = FULL_RANGE, high = FULL_RANGE] = await collection.readFeedRanges()
      const { continuation } = await start(collection, 'beginning', low)
      expect(continuation).toMatch(/^[\x21-\x7e]+$/)
      const read = (where: TestCollection, range: FeedRange, text: string): Promise<unknown> =>
        where.readPage({ range, continuation: text })
      const code = 'ERR_INVALID_CONTINUATION'
      await expect(read(other, low, continuation)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(/collection/),
      })
      await expect(read(collection, high, continuation)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(/range/),
      })
      for (const text of ['', 'x', continuation.slice(0, -1), `${continuation}0`]) {
        expect(await rejection(read(collection, low, text))).toBe(code)
        expect(await rejection(start(collection, { continuation: text }, low))).toBe(code)
      }
      await store.database('db').deleteCollection('coll')
      const again = await makeCollection(store, { partitionCount: 2 })
      await expect(read(again, low, continuation)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(/not of coll \(.*\): of another one, or of a coll that was/),
      })
    })

    test('LE-17 the `_rid` is that of its continuations; a collection that was created again has another one, and no positions', async () => {
      const store = await open()
      const collection = await makeCollection(store)
      await collection.positions.report([{ group: 'mail', range: FULL_RANGE, lsn: lsn(7) }])
      const rid = await collection.readRid()
      const { continuation } = await start(collection, 'now')
      expect(decodeContinuation(continuation).collectionRid).toBe(rid)
      await store.database('db').deleteCollection('coll')
      expect(await rejection(collection.positions.read('mail'))).toBe('ERR_NOT_FOUND')
      const again = await makeCollection(store)
      expect(await again.readRid()).not.toBe(rid)
      expect(await again.positions.read('mail')).toEqual([])
      // A handle of the one before stores nothing in the new one.
      const late = [{ group: 'mail', range: FULL_RANGE, lsn: lsn(7) }]
      expect(await rejection(collection.positions.report(late))).toBe('ERR_NOT_FOUND')
      expect(await again.positions.read('mail')).toEqual([])
    })

    test.each(['latestVersion', 'allVersions'] as const)(
      'CF-8 a continuation beyond the newest LSN (%s) is refused: going on would skip changes',
      async (mode) => {
        const allVersions = { retentionSeconds: 3600 }
        const collection = await makeCollection(await open(), { allVersions })
        for (let n = 0; n < 3; n++) await collection.upsert({ id: 'a', pk: 'p' })
        const { rid: collectionRid } = await collection.readRecord()
        const range = FULL_RANGE
        const { lsn: newest } = await collection.resolveStart({
          range,
          start: 'now',
          mode,
        })
        const at = (position: number): Continuation => {
          const held = { range, epoch: 0, lsn: lsn(position), purgeStamp: 0 }
          return encodeContinuation({ collectionRid, mode, positions: [held] })
        }
        for (const read of [
          (continuation: Continuation) => collection.readPage({ range, continuation, mode }),
          (continuation: Continuation) => collection.measureLag({ range, continuation, mode }),
          (continuation: Continuation) =>
            collection.changes({ from: { continuation }, mode, follow: false }).next(),
        ]) {
          await read(at(newest))
          expect(await rejection(read(at(newest + 1)))).toBe('ERR_INVALID_CONTINUATION')
        }
      },
    )

    test('CF-7 maxItemCount: -1 and absent are the choice of the store, others are counts', async () => {
      const collection = await makeCollection(await open())
      for (let n = 0; n < 5; n++) await collection.create({ id: `d${n}`, pk: 'p' })
      const { continuation } = await start(collection, 'beginning')
      const read = (maxItemCount: number | undefined) =>
        collection.readPage({ range: FULL_RANGE, continuation, maxItemCount })
      expect((await read(-1)).changes).toHaveLength(5)
      expect((await read(undefined)).changes).toHaveLength(5)
      expect((await read(1)).changes).toHaveLength(1)
      for (const count of [0, -2, 0.5, Number.NaN]) {
        expect(await rejection(read(count))).toBe('ERR_INVALID_OPTION')
      }
    })

    test('a page as text has the same documents and the same position', async () => {
      const collection = await makeCollection(await open())
      for (let n = 0; n < 5; n++) await collection.create({ id: `d${n}`, pk: 'p', text: 'ü"€' })
      const { continuation } = await start(collection, 'beginning')
      const request = { range: FULL_RANGE, continuation, maxItemCount: 3 }
      const parsed = await collection.readPage(request)
      const { bodies, ...text } = await collection.readPageText(request)
      expect(text).toEqual({
        continuation: parsed.continuation,
        lsn: parsed.lsn,
        caughtUp: parsed.caughtUp,
      })
      expect(bodies.map((body) => JSON.parse(body) as unknown)).toEqual(
        parsed.changes.map((change) => change.kind === 'document' && change.document),
      )
    })

    test('CF-10 a time to live in force is announced with the change', async () => {
      const collection = await makeCollection(await open(), { defaultTtl: 100 })
      await collection.create({ id: 'default', pk: 'p' })
      await collection.create({ id: 'own', pk: 'p', ttl: 7 })
      await collection.create({ id: 'never', pk: 'p', ttl: -1 })
      const { continuation } = await start(collection, 'beginning')
      const { changes } = await collection.readPage({ range: FULL_RANGE, continuation })
      const lives = changes.map((change) =>
        change.kind === 'document' && change.expiresAtMs !== undefined
          ? change.expiresAtMs - change.document._ts * 1000
          : undefined,
      )
      expect(lives).toEqual([100_000, 7000, undefined])
    })

    test('CF-12 waiting readers wake when something is written, not before', async () => {
      const collection = await makeCollection(await open())
      const { continuation } = await start(collection, 'now')
      const { signal } = new AbortController()
      const wait = (timeoutMs: number): Promise<boolean> =>
        collection.waitForChanges({ range: FULL_RANGE, continuation, timeoutMs, signal })
      expect(await wait(5)).toBe(false)
      const waiting = wait(20_000)
      const { lsn: afterLsn } = await collection.create({ id: 'a', pk: 'p' })
      expect(await waiting).toBe(true)
      const partition = collection.waitForCommit({
        partitionKey: 'p',
        afterLsn,
        timeoutMs: 20_000,
        signal,
      })
      await collection.upsert({ id: 'a', pk: 'p' })
      expect(await partition).toBe(true)
    })
  })

  describe('changes()', () => {
    const fill = async (collection: TestCollection, count: number): Promise<void> => {
      for (let n = 0; n < count; n++) await collection.create({ id: `d${n}`, pk: `p${n % 13}`, n })
    }

    test('CF-13 CF-4 from the beginning without following: every document, then the end', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 4 })
      await fill(collection, 50)
      for (const maxItemCount of [1, 3, undefined]) {
        const pages = await allPages(
          collection.changes({ from: 'beginning', follow: false, maxItemCount }),
        )
        expect(pages.flatMap(({ changes }) => idsOf(changes)).toSorted()).toEqual(
          Array.from({ length: 50 }, (_, n) => `d${n}`).toSorted(),
        )
        expect(pages.map(({ caughtUp }) => caughtUp).indexOf(true)).toBe(pages.length - 1)
      }
    })

    test('CF-13 all ranges get their turn', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 3 })
      await fill(collection, 60)
      const pages = await allPages(
        collection.changes({ from: 'beginning', follow: false, maxItemCount: 2 }),
      )
      const firstRound = new Set(pages.slice(0, 3).map(({ range }) => range.minInclusive))
      expect(firstRound.size).toBe(3)
    })

    test('CF-13 without changes the last continuation is in hand all the same', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 3 })
      await fill(collection, 5)
      const [page, ...more] = await allPages(collection.changes({ from: 'now', follow: false }))
      expect(more).toEqual([])
      expect(page).toMatchObject({ changes: [], caughtUp: true, range: FULL_RANGE })
      await collection.create({ id: 'later', pk: 'p' })
      const next = await allPages(
        collection.changes({ from: { continuation: page?.continuation ?? '' }, follow: false }),
      )
      expect(next.flatMap(({ changes }) => idsOf(changes))).toEqual(['later'])
    })

    test("CF-8 any page's continuation resumes all ranges, nothing twice and nothing lost", async () => {
      const collection = await makeCollection(await open(), { partitionCount: 4 })
      await fill(collection, 40)
      const seen: string[] = []
      let from: 'beginning' | { continuation: string } = 'beginning'
      for (let step = 0; seen.length < 40; step++) {
        expect(step).toBeLessThan(60)
        const iteration = collection.changes({ from, follow: false, maxItemCount: 1 })
        for await (const page of iteration) {
          seen.push(...idsOf(page.changes))
          from = { continuation: page.continuation }
          break
        }
      }
      expect(new Set(seen).size).toBe(40)
    })

    test('CF-9 a filter leaves changes out, and the continuation moves past them', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 2 })
      await fill(collection, 30)
      const filter = (change: { readonly id: string }): boolean => change.id === 'd7'
      const pages = await allPages(
        collection.changes({ from: 'beginning', follow: false, filter, maxItemCount: 4 }),
      )
      expect(pages.flatMap(({ changes }) => idsOf(changes))).toEqual(['d7'])
      const continuation = pages.at(-1)?.continuation ?? ''
      const rest = await allPages(collection.changes({ from: { continuation }, follow: false }))
      expect(rest.flatMap(({ changes }) => changes)).toEqual([])
    })

    test('CF-13 one range, or any interval of keys', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 3 })
      await fill(collection, 40)
      const { encoder } = await collection.open()
      const [first] = await collection.readFeedRanges()
      for (const range of [first, { minInclusive: '08', maxExclusive: '30' }]) {
        const pages = await allPages(
          collection.changes({ from: 'beginning', follow: false, range, maxItemCount: 5 }),
        )
        const keys = pages.flatMap(({ changes }) => changes.map((change) => change.partitionKey))
        expect(keys.length).toBeGreaterThan(0)
        expect(
          keys.every((key) => range && rangeContainsEpk(range, encoder.encodeKey(key).epk)),
        ).toBe(true)
      }
      const [page] = await allPages(
        collection.changes({ from: 'now', follow: false, range: first }),
      )
      const continuation = page?.continuation ?? ''
      expect(
        await rejection(allPages(collection.changes({ from: { continuation }, follow: false }))),
      ).toBe('ERR_INVALID_CONTINUATION')
    })

    test('CF-6 from a date includes its second', async () => {
      const collection = await makeCollection(await open())
      const { document } = await collection.create({ id: 'a', pk: 'p' })
      const pages = await allPages(
        collection.changes({ from: new Date(document._ts * 1000), follow: false }),
      )
      expect(pages.flatMap(({ changes }) => idsOf(changes))).toEqual(['a'])
    })

    test('CF-12 CF-13 following delivers what is written, in every range, until aborted', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 4 })
      const abort = new AbortController()
      const reason = new Error('enough')
      const iteration = collection.changes({ from: 'beginning', signal: abort.signal })
      const seen: string[] = []
      const reader = (async () => {
        for await (const page of iteration) {
          seen.push(...idsOf(page.changes))
          if (seen.length === 40) abort.abort(reason)
        }
      })()
      const outcome = expect(reader).rejects.toBe(reason)
      await fill(collection, 40)
      await outcome
      expect(new Set(seen).size).toBe(40)
    })

    test('CF-13 an abort while it waits ends it with the reason', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 2 })
      const abort = new AbortController()
      const iteration = collection.changes({ signal: abort.signal })
      const next = iteration.next()
      const reason = new Error('enough')
      const outcome = expect(next).rejects.toBe(reason)
      await collection.count()
      abort.abort(reason)
      await outcome
      const aborted = collection.changes({ signal: abort.signal })
      await expect(aborted.next()).rejects.toBe(reason)
    })

    test('CF-5 a reader of many pages lets timers and other work run in between', async () => {
      const collection = await makeCollection(await open())
      for (let round = 0; round < 25; round++) {
        const operations = Array.from({ length: 100 }, (_, n) => ({
          kind: 'create' as const,
          document: { id: `d${round}-${n}`, pk: 'p' },
        }))
        await collection.batch('p', operations)
      }
      let turns = 0
      let reading = true
      const count = async (): Promise<void> => {
        while (reading) {
          await settle(1)
          turns++
        }
      }
      const counting = count()
      const readThrough = async (read: () => AsyncIterable<unknown>): Promise<number> => {
        const before = turns
        for await (const _page of read());
        return turns - before
      }
      const pages = (): AsyncIterable<unknown> =>
        collection.changes({ from: 'beginning', follow: false, maxItemCount: 50 })
      expect(await readThrough(pages)).toBeGreaterThan(0)
      const documents = async function* (): AsyncGenerator<unknown, void, undefined> {
        let continuation: string | undefined
        do {
          const page = await collection.readDocuments({ maxItemCount: 50, continuation })
          yield page
          continuation = page.continuation
        } while (continuation !== undefined)
      }
      expect(await readThrough(documents)).toBeGreaterThan(0)
      reading = false
      await counting
    })

    test('CF-13 leaving the loop leaves nothing behind', async () => {
      const { clock, collection } = await makeTimed(open, { partitionCount: 3 })
      await fill(collection, 3)
      expect(clock.sleeping).toBe(0)
      const iteration = collection.changes({ from: 'beginning' })
      for await (const { caughtUp } of iteration) if (caughtUp) break
      expect(clock.sleeping).toBe(0)

      // It waits in all ranges, and goes on in one.
      const waiting = collection.changes({ from: 'now' })
      const next = waiting.next()
      await expect.poll(() => clock.sleeping).toBeGreaterThanOrEqual(3)
      await collection.create({ id: 'late', pk: 'p0' })
      expect(idsOf((await next).value?.changes ?? [])).toEqual(['late'])
      expect(clock.sleeping).toBeGreaterThan(0)
      await waiting.return()
      expect(clock.sleeping).toBe(0)
    })

    test('a collection that is deleted ends its followers with ERR_NOT_FOUND', async () => {
      const store = await open()
      const collection = await makeCollection(store, { partitionCount: 2 })
      await collection.create({ id: 'a', pk: 'p' })
      const iteration = collection.changes({ from: 'beginning' })
      expect(idsOf((await iteration.next()).value?.changes ?? [])).toEqual(['a'])
      const outcome = expect(iteration.next()).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
      await store.database('db').deleteCollection('coll')
      await outcome
    })

    test('options that make no sense are refused at once, continuations at the first page', async () => {
      const store = await open()
      const collection = await makeCollection(store)
      const other = await makeCollection(store, { id: 'other' })
      expect(thrown(() => collection.changes({ maxItemCount: 0 }))).toBe('ERR_INVALID_OPTION')
      expect(thrown(() => collection.changes({ from: new Date(Number.NaN) }))).toBe(
        'ERR_INVALID_OPTION',
      )
      expect(thrown(() => collection.changes({ from: 'never' as 'now' }))).toBe(
        'ERR_INVALID_OPTION',
      )
      const empty = { minInclusive: '20', maxExclusive: '20' }
      expect(thrown(() => collection.changes({ range: empty }))).toBe('ERR_INVALID_OPTION')
      const [page] = await allPages(other.changes({ follow: false }))
      const foreign = page?.continuation ?? ''
      for (const continuation of [foreign, '', 'x']) {
        expect(await rejection(collection.changes({ from: { continuation } }).next())).toBe(
          'ERR_INVALID_CONTINUATION',
        )
      }
    })
  })
}
