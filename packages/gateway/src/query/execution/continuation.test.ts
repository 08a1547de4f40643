import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  allPages,
  MemorySource,
  runPage,
  withRids,
  type RunRequest,
} from '../query-rows.fixture.ts'
import { decodeContinuation, encodeContinuation } from './continuation.ts'

const documents = withRids(
  Array.from({ length: 20 }, (_, n) => ({ n, text: `text ${n}`, m: n % 3 })),
)
const KINDS = [
  'SELECT VALUE c.n FROM c',
  'SELECT VALUE c.n FROM c WHERE c.n > @p',
  'SELECT VALUE c.n FROM c ORDER BY c.m, c.text DESC',
  'SELECT DISTINCT VALUE c.text FROM c',
  'SELECT c.text, COUNT(1) FROM c GROUP BY c.text',
] as const

async function token(text: string, request: RunRequest = {}): Promise<string> {
  const source = new MemorySource(documents)
  const page = await runPage(text, source, { maxItemCount: 3, parameters: { p: 1 }, ...request })
  if (page.continuation === undefined) throw new Error('there is no further page')
  return page.continuation
}

function resume(text: string, request: RunRequest): Promise<unknown> {
  return runPage(text, new MemorySource(documents), { parameters: { p: 1 }, ...request })
}

const refusal = { code: 'ERR_BAD_QUERY', message: expect.stringContaining('continuation') }

describe('a continuation', () => {
  test.each(KINDS)('is printable ASCII below 1 KiB: %s', async (text) => {
    expect(await token(text)).toMatch(/^[\x21-\x7e]{1,1000}$/)
  })

  test.each(KINDS)('goes on with another page size: %s', async (text) => {
    const source = new MemorySource(documents)
    const request = { parameters: { p: 1 } }
    const first = await runPage(text, source, { ...request, maxItemCount: 3 })
    const rest = await runPage(text, source, { ...request, continuation: first.continuation })
    const rows = [...first.items, ...rest.items].map((row) => JSON.stringify(row))
    const whole = (await allPages(text, source, request)).flat().map((row) => JSON.stringify(row))
    expect(rows.toSorted()).toEqual(whole.toSorted())
  })

  test.each(KINDS)('is of its query, parameters and scope only: %s', async (text) => {
    const continuation = await token(text)
    await expect(resume(`${text} `, { continuation })).rejects.toMatchObject(refusal)
    await expect(resume(text, { continuation, parameters: { p: 2 } })).rejects.toMatchObject(
      refusal,
    )
    await expect(resume(text, { continuation, scope: 'other' })).rejects.toMatchObject(refusal)
    await expect(resume(text, { continuation })).resolves.toBeDefined()
  })

  const whole = { minInclusive: '', maxExclusive: 'FF' }
  const part = { minInclusive: '20', maxExclusive: 'FF' }

  test.each(KINDS)(
    'of a range is good for a part of it, and not the other way round: %s',
    async (text) => {
      const ofWhole = await token(text, { range: whole })
      await expect(resume(text, { continuation: ofWhole, range: part })).resolves.toBeDefined()
      const ofPart = await token(text, { range: part })
      for (const range of [whole, { minInclusive: '', maxExclusive: '20' }]) {
        await expect(resume(text, { continuation: ofPart, range })).rejects.toMatchObject(refusal)
      }
    },
  )

  test.each([
    ['SELECT VALUE x FROM c JOIN x IN c.list', { list: [1, 2, 3, 4, 5] }],
    ['SELECT * FROM c ORDER BY c.text', { text: 'x'.repeat(200) }],
  ])('that counts rows is of no part of its range: %s', async (text, document) => {
    const source = new MemorySource(withRids(Array.from({ length: 5 }, () => document)))
    const { continuation } = await runPage(text, source, { range: whole, maxItemCount: 3 })
    expect(continuation).toBeDefined()
    await expect(runPage(text, source, { continuation, range: whole })).resolves.toBeDefined()
    await expect(runPage(text, source, { continuation, range: part })).rejects.toMatchObject({
      message: expect.stringContaining('run the query again'),
    })
  })

  test.each([
    { kind: 'stream', after: 'rid000002', rowsGiven: 0 },
    { kind: 'ranked', boundary: undefined },
  ] as const)('that has rows to pass over is of no part of its range: $kind', (progress) => {
    const owner = { queryHash: 'q', range: whole }
    const at = (offset: number) => encodeContinuation({ ...progress, offset, limit: 5 }, owner)
    const inPart = { queryHash: 'q', range: part }
    expect(decodeContinuation(at(0), inPart)).toMatchObject({ offset: 0, limit: 5 })
    expect(decodeContinuation(at(2), owner)).toMatchObject({ offset: 2, limit: 5 })
    expect(() => decodeContinuation(at(2), inPart)).toThrow('run the query again')
  })

  test('is refused when a character was changed, added or lost', async () => {
    const good = await token(KINDS[2])
    await fc.assert(
      fc.asyncProperty(
        fc.nat(good.length - 1),
        fc.constantFrom('', 'Z', '.', '=='),
        async (at, put) => {
          const continuation = good.slice(0, at) + put + good.slice(at + 1)
          fc.pre(continuation !== good)
          await expect(resume(KINDS[2], { continuation })).rejects.toMatchObject({
            code: 'ERR_BAD_QUERY',
          })
        },
      ),
    )
    for (const continuation of ['', 'x', '...', 'q2....', '"9"']) {
      await expect(resume(KINDS[0], { continuation })).rejects.toMatchObject(refusal)
    }
  })

  test('stays short, and exact, where ORDER BY is over long texts that begin alike', async () => {
    const begin = 'ü'.repeat(5000)
    const long = withRids(Array.from({ length: 30 }, (_, n) => ({ n, text: `${begin}${n % 7}` })))
    for (const text of [
      'SELECT VALUE c.n FROM c ORDER BY c.text',
      'SELECT VALUE c.n FROM c ORDER BY c.text DESC, c.n',
    ]) {
      const whole = (await allPages(text, new MemorySource(long))).flat()
      expect(whole).toHaveLength(30)
      const page = await runPage(text, new MemorySource(long), { maxItemCount: 4 })
      expect(page.continuation?.length).toBeLessThan(1024)
      expect((await allPages(text, new MemorySource(long), { maxItemCount: 4 })).flat()).toEqual(
        whole,
      )
    }
  })
})

describe('texts at the very length where a continuation cuts them', () => {
  const begin = 'x'.repeat(100)
  const texts = [begin.slice(1), begin, begin, begin, `${begin}a`, `${begin}a`, `${begin}b`, 'y']
  const stored = withRids(texts.map((text, n) => ({ n, text })))

  test.each(['ASC', 'DESC'])(
    'come once each, in order, on pages of any size: %s',
    async (direction) => {
      const text = `SELECT VALUE c.n FROM c ORDER BY c.text ${direction}`
      const whole = (await allPages(text, new MemorySource(stored))).flat()
      expect(whole).toHaveLength(texts.length)
      for (let maxItemCount = 1; maxItemCount < texts.length; maxItemCount++) {
        const pages = await allPages(text, new MemorySource(stored), { maxItemCount })
        expect(pages.flat()).toEqual(whole)
      }
    },
  )
})

describe('when documents change between two pages', () => {
  test('of a stream, none that was there all the time is lost or repeated', async () => {
    const source = new MemorySource(documents)
    const first = await runPage('SELECT VALUE c.n FROM c', source, { maxItemCount: 5 })
    source.documents = documents.filter(({ n }) => n !== 2 && n !== 4 && n !== 7)
    const rest = await runPage('SELECT VALUE c.n FROM c', source, {
      continuation: first.continuation,
    })
    expect(first.items).toEqual([0, 1, 2, 3, 4])
    expect(rest.items).toEqual([5, 6, ...Array.from({ length: 12 }, (_, n) => n + 8)])
  })

  test.each([
    'SELECT VALUE c.n FROM c ORDER BY c.m, c.n DESC',
    'SELECT DISTINCT VALUE c.n FROM c',
    'SELECT VALUE c.n FROM c GROUP BY c.n',
  ])('none that was there all the time is lost or repeated: %s', async (text) => {
    const source = new MemorySource(documents)
    const first = await runPage(text, source, { maxItemCount: 5 })
    const gone = new Set([first.items[0], first.items[4]])
    const added = withRids(Array.from({ length: 5 }, (_, n) => ({ n: 100 + n, m: 0 })))
    source.documents = [
      ...documents.filter(({ n }) => !gone.has(n)),
      ...added.map((document, n) => ({ ...document, _rid: `z${n}` })),
    ]
    const rows = [...first.items]
    for (let continuation = first.continuation; continuation !== undefined;) {
      const page = await runPage(text, source, { maxItemCount: 3, continuation })
      rows.push(...page.items)
      continuation = page.continuation
    }
    const old = rows.filter((n) => typeof n === 'number' && n < 100)
    expect(old.toSorted((a, b) => Number(a) - Number(b))).toEqual(documents.map(({ n }) => n))
    expect(new Set(rows).size).toBe(rows.length)
  })
})
