import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { matchesCondition } from './execution/matches-condition.ts'
import { runQuery } from './execution/run-query.ts'
import type { Json, JsonObject } from './json.ts'
import { DEFAULT_QUERY_LIMITS, QueryBudget, type QueryLimits } from './query-budget.ts'
import { allPages, fixedClock, MemorySource, runPage, withRids } from './query-rows.fixture.ts'
import { QueryTurns } from './query-turns.ts'
import { parseCondition, parseQuery } from './syntax/parse-query.ts'

const { signal } = new AbortController()

function budgetOf(limits: Partial<QueryLimits>): QueryBudget {
  return new QueryBudget({ limits: { ...DEFAULT_QUERY_LIMITS, ...limits }, signal })
}

const numbers = Array.from({ length: 300 }, (_, n) => n)
const LONG = `REPLACE(REPLICATE('x', 1000), 'x', REPLICATE('y', 100))`
const objects = numbers.map((n) => ({ n, list: [n] }))
const parameters: Readonly<Record<string, Json>> = {
  list: numbers,
  words: numbers.map((n) => `word${n}`),
  objects,
  same: structuredClone(objects),
  text: `${'a'.repeat(20_000)}b`,
  other: `${'a'.repeat(20_000)}c`,
  set: `%[${Array.from({ length: 900 }, (_, n) => String.fromCharCode(0x4e00 + 2 * n)).join('')}]`,
  wide: { first: 1, ...Object.fromEntries(numbers.map((n) => [`name${n}`, n])) },
  other_wide: { first: 2, ...Object.fromEntries(numbers.map((n) => [`name${n}`, n])) },
  named: { ['n'.repeat(20_000)]: 1 },
  blanks: numbers.map((n) => String.fromCharCode(0x4e00 + n).repeat(4)).join(''),
  brackets: '['.repeat(20_000) + ']'.repeat(20_000),
}
const document = { text: 'a'.repeat(20_000), list: numbers }

describe('one row', () => {
  test.each([
    ['rows of subqueries', `ARRAY_LENGTH(ARRAY(SELECT VALUE 1 FROM a IN @list JOIN b IN @list))`],
    ['rows that WHERE drops', `EXISTS(SELECT VALUE 1 FROM a IN @list JOIN b IN @list WHERE a < 0)`],
    ['counted rows', `(SELECT VALUE COUNT(1) FROM a IN @list JOIN b IN @list)`],
    ['rows of rows', `ARRAY(SELECT VALUE 1 FROM x IN (SELECT VALUE @list FROM a IN @list))`],
    ['nested subqueries', `${'ARRAY(SELECT VALUE '.repeat(3)}1${' FROM a IN @list)'.repeat(3)}`],
    ['long texts that are made', `ARRAY(SELECT VALUE UPPER(${LONG}) FROM a IN @list)`],
    ['texts that are joined', `${Array(300).fill('@text').join(' || ')} = ''`],
    ['LIKE that goes back and forth', `c.text LIKE '%${'a'.repeat(900)}c%'`],
    ['LIKE with a large set', `c.text LIKE @set`],
    ['LIKE that fails near each place', `c.text LIKE '%${'a'.repeat(40)}c%'`],
    ['patterns that are read', `ARRAY(SELECT VALUE 'a' LIKE @set FROM a IN @list)`],
    ['a long text sought in a longer one', `CONTAINS(c.text, CONCAT(LEFT(c.text, 9000), 'c'))`],
    ['a place that is sought', `INDEX_OF(c.text, CONCAT(LEFT(c.text, 9000), 'c'))`],
    ['places that are replaced', `REPLACE(c.text, CONCAT(LEFT(c.text, 9000), 'c'), '')`],
    ['places where a text is split', `StringSplit(c.text, CONCAT(LEFT(c.text, 9000), 'c'))`],
    ['texts that differ at the end', `@text IN (${Array(300).fill('@other').join(',')})`],
    ['comparisons of texts', Array(300).fill('@text < @other').join(' AND ')],
    ['texts that are aggregated', `(SELECT VALUE MAX(a % 2 = 0 ? @text : @other) FROM a IN @list)`],
    ['wide objects that differ at once', Array(100).fill('@wide = @other_wide').join(' OR ')],
    ['long names that are hashed', `ARRAY(SELECT DISTINCT VALUE [a, @named] FROM a IN @list)`],
    ['objects made into arrays', `ARRAY(SELECT VALUE ObjectToArray(@wide) FROM a IN @list)`],
    ['characters to trim', `ARRAY(SELECT VALUE LTRIM('a', @blanks) FROM a IN @list)`],
    ['equality of objects', Array(100).fill('@objects = @same').join(' AND ')],
    [
      'objects sought',
      `ARRAY_CONTAINS(ARRAY(SELECT VALUE [@objects, a] FROM a IN @list), [@same, -1])`,
    ],
    [
      'parts of objects sought',
      `ARRAY_CONTAINS(ARRAY(SELECT VALUE [@objects, a] FROM a IN @list), [@same, -1], true)`,
    ],
    ['sets of large values', `SetUnion(ARRAY(SELECT VALUE @objects FROM a IN @list), [])`],
    ['values told apart', `ARRAY(SELECT DISTINCT VALUE [@objects, a] FROM a IN @list)`],
    ['arrays that are joined', `ARRAY_CONCAT(${Array(2000).fill('@list').join(',')})`],
    ['texts that are parsed', `StringToArray(@brackets)`],
    ['texts that are reversed', `ARRAY(SELECT VALUE REVERSE(@text) FROM a IN @list)`],
    ['values written as text', `ARRAY(SELECT VALUE ToString(@objects) FROM a IN @list)`],
  ])('cannot take more than its steps: %s', async (_name, expression) => {
    const source = new MemorySource(withRids([document]))
    const page = runPage(`SELECT VALUE [${expression}] FROM c`, source, {
      parameters,
      budget: budgetOf({ maxRowSteps: 30_000 }),
    })
    await expect(page).rejects.toMatchObject({
      code: 'ERR_QUERY_TOO_COSTLY',
      message: expect.stringContaining('30000 steps (maxRowSteps)'),
    })
  })

  test('counts what all its sources keep', async () => {
    const source = new MemorySource(withRids([document]))
    const made = '(SELECT VALUE {a: {}, b: [], c: {}} FROM a IN @list)'
    const joins = Array.from({ length: 10 }, (_, n) => `JOIN ${made} s${n}`).join(' ')
    const page = runPage(`SELECT TOP 1 VALUE 1 FROM c ${joins}`, source, {
      parameters,
      budget: budgetOf({ maxRowChars: 200_000 }),
    })
    await expect(page).rejects.toMatchObject({
      code: 'ERR_QUERY_TOO_COSTLY',
      message: expect.stringContaining('200000 characters (maxRowChars)'),
    })
  })

  test('cannot make more than its characters', async () => {
    for (const expression of [
      `ARRAY(SELECT VALUE UPPER(${LONG}) FROM a IN @list)`,
      `ARRAY(SELECT VALUE StringSplit(@text, 'a') FROM a IN @list)`,
      `ARRAY(SELECT VALUE ARRAY_CONCAT(@list, @list) FROM a IN @list)`,
      `ARRAY(SELECT VALUE {a: {}, b: [], c: {}} FROM a IN @list JOIN b IN @list)`,
      `(SELECT VALUE COUNT(1) FROM x IN (SELECT VALUE @list FROM a IN @list JOIN b IN ARRAY_SLICE(@list, 0, 2)))`,
      `ARRAY(SELECT DISTINCT VALUE a * 1000 + b FROM a IN @list JOIN b IN ARRAY_SLICE(@list, 0, 50))`,
      `SetUnion(ARRAY(SELECT VALUE a FROM a IN @list JOIN b IN @list), [])`,
      `SetUnion(ARRAY(SELECT VALUE a * 1000 + b FROM a IN @list JOIN b IN ARRAY_SLICE(@list, 0, 50)), [])`,
    ]) {
      const source = new MemorySource(withRids([document]))
      const page = runPage(`SELECT VALUE ${expression} FROM c`, source, {
        parameters,
        budget: budgetOf({ maxRowChars: 1_000_000 }),
      })
      await expect(page, expression).rejects.toMatchObject({
        code: 'ERR_QUERY_TOO_COSTLY',
        message: expect.stringContaining('1000000 characters (maxRowChars)'),
      })
    }
  })

  test('pays for computed properties, too', async () => {
    const query = `SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT VALUE 1 FROM a IN c.list JOIN b IN c.list)) FROM c`
    const page = runPage('SELECT VALUE c.pairs FROM c', new MemorySource(withRids([document])), {
      computedProperties: [{ name: 'pairs', query }],
      budget: budgetOf({ maxRowSteps: 30_000 }),
    })
    await expect(page).rejects.toMatchObject({ code: 'ERR_QUERY_TOO_COSTLY' })
  })

  test('is what all conditions of one write have together', () => {
    const condition = parseCondition('from c join a in c.list join b in c.list where a < 0')
    const budget = budgetOf({ maxRowSteps: 500_000 })
    expect(matchesCondition(condition, document, { budget })).toBe(false)
    expect(() => matchesCondition(condition, document, { budget })).toThrow(
      expect.objectContaining({ code: 'ERR_QUERY_TOO_COSTLY' }),
    )
  })
})

describe('the text of a query', () => {
  const long = `SELECT VALUE ${'1+'.repeat(30_000)}1`

  test('cannot have more words and signs than its steps', () => {
    const tooCostly = expect.objectContaining({
      code: 'ERR_QUERY_TOO_COSTLY',
      message: expect.stringContaining('1000000 steps (maxRowSteps)'),
    })
    expect(() => parseQuery(long, budgetOf({}))).toThrow(tooCostly)
    // All conditions of one write have one budget.
    const budget = budgetOf({})
    const condition = `from c where ${'1+'.repeat(10_000)}1 = 0`
    parseCondition(condition, budget)
    parseCondition(condition, budget)
    expect(() => parseCondition(condition, budget)).toThrow(tooCostly)
  })

  test('of a computed property is paid for, too', async () => {
    const page = runPage('SELECT VALUE c.sum FROM c', new MemorySource(withRids([document])), {
      computedProperties: [{ name: 'sum', query: `${long} FROM c` }],
      budget: budgetOf({}),
    })
    await expect(page).rejects.toMatchObject({ code: 'ERR_QUERY_TOO_COSTLY' })
  })

  test('does not count for its rows', async () => {
    const budget = budgetOf({ maxRowSteps: 30_000 })
    const query = parseQuery(`SELECT VALUE ${'1+'.repeat(700)}1 FROM c`, budget)
    const source = new MemorySource(withRids(numbers.map((n) => ({ n }))))
    const { items } = await runQuery(query, { source, budget, maxItemCount: 1000, signal })
    expect(items).toHaveLength(300)
    expect(budget.steps).toBeGreaterThan(30_000)
  })
})

test('pages without a document cost something: a source without an end does not keep the thread', async () => {
  let reads = 0
  const source = {
    read: async () => {
      if (++reads > 20_000) throw new Error('it reads for ever')
      return { documents: [], position: String(reads), positionAfter: () => '', done: false }
    },
  }
  const budget = new QueryBudget({ signal })
  await expect(runPage('SELECT * FROM c', source, { budget })).rejects.toThrow('maxRowSteps')
})

describe('what a query holds', () => {
  const CHUNK = 256 * 1024

  /** Runs a page; gives how many characters it asked for beyond those that each request has. */
  async function asked(text: string, documents: JsonObject[]): Promise<number> {
    let chars = 0
    const hold = (all: number): number => {
      chars = Math.max(chars, Math.ceil(all / CHUNK) * CHUNK - CHUNK)
      return CHUNK + chars
    }
    const budget = new QueryBudget({ hold, signal })
    await runPage(text, new MemorySource(withRids(documents)), { parameters, budget })
    return chars
  }

  test('is counted for a body before it is parsed, with its places, to the end', () => {
    const held: number[] = []
    const hold = (chars: number): number => {
      held.push(chars)
      return chars
    }
    const budget = new QueryBudget({ hold, signal })
    budget.parse(1_000, 50)
    expect(budget.steps).toBe(82)
    budget.beginRow()
    budget.keepPage(500)
    expect(held).toEqual([1_400, 1_900])
    expect(() => budget.parse(1, 1_000_000)).toThrow('maxRowSteps')
  })

  test('objects with names like indexes take as much as they do', async () => {
    const list = JSON.stringify(Array.from({ length: 100 }, (_, n) => n))
    const text = (name: string): string =>
      `SELECT VALUE COUNT(1) FROM c JOIN (SELECT VALUE {"${name}": 1} FROM a IN ${list} JOIN b IN ${list}) o`
    const plain = await asked(text('a4294967290'), [{}])
    expect(await asked(text('4294967290'), [{}])).toBeGreaterThan(plain + 10_000 * 200)
  })

  test('is not asked for while it is little', async () => {
    const documents = numbers.map((n) => ({ n }))
    expect(await asked('SELECT * FROM c ORDER BY c.n', documents)).toBe(0)
  })

  test.each([
    [
      'what JOINs keep',
      `SELECT VALUE COUNT(1) FROM c JOIN (SELECT VALUE UPPER(@text) FROM a IN @list) b`,
    ],
    ['what one row makes', `SELECT VALUE 1 FROM c WHERE ${LONG} || ${LONG} || ${LONG} = ''`],
    ['the rows of a page', 'SELECT * FROM c'],
    ['rows in order', 'SELECT * FROM c ORDER BY c.n'],
    ['rows of groups', 'SELECT c.n, MAX(c.text) AS text FROM c GROUP BY c.n'],
    [
      'what is made of groups',
      `SELECT c.n, REPLICATE('x', 10000) AS a, REPLICATE('y', 10000) AS b FROM c GROUP BY c.n`,
    ],
    ['aggregates', 'SELECT VALUE MAKELIST(c.text) FROM c'],
  ])('is asked for: %s', async (_name, text) => {
    const documents = numbers.slice(0, 40).map((n) => ({ n, text: 'a'.repeat(20_000) }))
    const chars = await asked(text, documents)
    expect(chars).toBeGreaterThanOrEqual(2 * CHUNK)
    expect(chars % CHUNK).toBe(0)
  })

  test.each(['', ' ORDER BY c.id', ' OFFSET 1 LIMIT 99'])(
    'ends the query at once where it is refused: SELECT * FROM c%s',
    async (clauses) => {
      const hold = (): never => {
        throw new Error('no more memory')
      }
      const budget = new QueryBudget({ hold, signal })
      const source = new MemorySource(withRids(numbers.map(() => document)))
      const page = runPage(`SELECT * FROM c${clauses}`, source, { budget })
      await expect(page).rejects.toThrow('no more memory')
      expect(source.reads).toBeLessThan(10)
    },
  )
})

describe('one page', () => {
  const source = (): MemorySource =>
    new MemorySource(withRids(numbers.map((n) => ({ n, list: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }))))

  test.each([
    'SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list JOIN d IN c.list',
    'SELECT VALUE c.n FROM c JOIN a IN c.list JOIN b IN c.list JOIN d IN c.list ORDER BY c.n',
    'SELECT DISTINCT VALUE d FROM c JOIN a IN c.list JOIN b IN c.list JOIN d IN c.list',
    'SELECT d, COUNT(1) AS k FROM c JOIN a IN c.list JOIN b IN c.list JOIN d IN c.list GROUP BY d',
    'SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.n FROM c JOIN a IN c.list JOIN b IN c.list)',
  ])('cannot take more than its steps: %s', async (text) => {
    const page = runPage(text, source(), { budget: budgetOf({ maxPageSteps: 50_000 }) })
    await expect(page).rejects.toMatchObject({
      code: 'ERR_QUERY_TOO_COSTLY',
      message: expect.stringContaining('50000 steps for one page (maxPageSteps)'),
    })
  })

  test('pays for the documents that it reads', async () => {
    const page = runPage('SELECT VALUE COUNT(1) FROM c', source(), {
      budget: budgetOf({ maxPageSteps: 20_000 }),
    })
    await expect(page).rejects.toMatchObject({
      message: expect.stringContaining('20000 steps for one page (maxPageSteps)'),
    })
  })

  test.each([
    ['', numbers],
    [' OFFSET 7 LIMIT 200', numbers.slice(7, 207)],
  ])('ends early where the next one can go on, and nothing is lost%s', async (bounds, expected) => {
    const text = `SELECT VALUE c.n FROM c JOIN a IN c.list JOIN b IN c.list WHERE a + b = 20${bounds}`
    const whole = await runPage(text, source(), { maxItemCount: 1000 })
    expect(whole.items).toEqual(expected)
    const limits = { maxPageSteps: whole.steps / 2 }
    const pages: unknown[][] = []
    let continuation: string | undefined
    do {
      const budget = budgetOf(limits)
      const page = await runPage(text, source(), { continuation, budget, maxItemCount: 1000 })
      pages.push([...page.items])
      continuation = page.continuation
    } while (continuation !== undefined)
    expect(pages.length).toBeGreaterThan(2)
    expect(pages.flat()).toEqual(expected)
  })

  test('holds no more of large extremes than a page may, and gives all groups', async () => {
    const text = `SELECT VALUE {n: c.n, chars: LENGTH(MAX(REPLACE(REPLICATE('x', 5000), 'x', REPLICATE('y', 100))))} FROM c WHERE c.n < 20 GROUP BY c.n`
    const pages = await allPages(text, source())
    expect(pages.length).toBeGreaterThan(1)
    expect(pages.flat()).toHaveLength(20)
    expect(pages.flat()).toContainEqual({ n: 7, chars: 500_000 })
  })

  test('is refused where its groups are far larger than what they are of', async () => {
    const page = runPage(`SELECT c.n, ${LONG} AS long FROM c GROUP BY c.n`, source())
    await expect(page).rejects.toMatchObject({ code: 'ERR_QUERY_TOO_COSTLY' })
  })

  test('does not keep the large texts that its rows are cut out of', async () => {
    const texts = withRids(numbers.slice(0, 40).map((n) => ({ n })))
    const large = new MemorySource(texts, { maxPage: 1 })
    const reading: MemorySource = Object.assign(large, {
      read: async (request: Parameters<MemorySource['read']>[0]) => {
        const page = await MemorySource.prototype.read.call(large, request)
        const documents = page.documents.map((found) => ({
          ...found,
          text: `${JSON.stringify(found)}, `.repeat(20_000),
        }))
        return { ...page, documents }
      },
    })
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    collect()
    const before = process.memoryUsage().heapUsed
    const text = `SELECT LEFT(c.text, 30) AS a, RIGHT(c.text, 30) AS b, SUBSTRING(c.text, 9, 30) AS c, TRIM(LEFT(c.text, 999000)) = '' AS d, StringSplit(LEFT(c.text, 900), 'z')[0] AS e FROM c`
    const page = await runPage(text, reading, { maxItemCount: 100 })
    collect()
    const heldBytes = process.memoryUsage().heapUsed - before
    expect(page.items).toHaveLength(40)
    // The texts have 40 MB together.
    expect(heldBytes).toBeLessThan(10_000_000)
  })
})

describe('the thread', () => {
  /** Each look at it is a millisecond later. */
  function hastyClock(): typeof fixedClock {
    let nowMs = 0
    return { ...fixedClock, monotonicMs: () => nowMs++ }
  }
  const endless = 'SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list JOIN d IN c.list'

  test('is free again and again in the midst of the rows of one document', async () => {
    let turns = 0
    let isRunning = true
    const count = (): void => {
      turns++
      if (isRunning) setImmediate(count)
    }
    setImmediate(count)
    const source = new MemorySource(withRids([{ list: numbers.slice(0, 100) }]))
    const budget = new QueryBudget({ turns: new QueryTurns(hastyClock()), signal })
    const page = await runPage(endless, source, { budget })
    isRunning = false
    expect(page.items).toEqual([1_000_000])
    expect(turns).toBeGreaterThan(50)
  })

  test('is left for good by a query that was ended meanwhile', async () => {
    const controller = new AbortController()
    const budget = new QueryBudget({
      turns: new QueryTurns(hastyClock()),
      signal: controller.signal,
    })
    const page = runPage(endless, new MemorySource(withRids([document])), {
      budget,
      signal: controller.signal,
    })
    setImmediate(() => controller.abort(new Error('the time is over')))
    await expect(page).rejects.toThrow('the time is over')
    expect(budget.steps).toBeLessThan(1_000_000)
  })

  test('goes to one query after each turn of the event loop, however many begin at once', async () => {
    let turn = 0
    let isRunning = true
    const count = (): void => {
      turn++
      if (isRunning) setImmediate(count)
    }
    setImmediate(count)
    // Each look at the clock finds that the slice is over.
    let nowMs = 0
    const turns = new QueryTurns({ ...fixedClock, monotonicMs: () => (nowMs += 1000) })
    const ended = numbers.slice(0, 20).map(async () => {
      const budget = new QueryBudget({ turns, signal })
      await runPage('SELECT * FROM c', new MemorySource(withRids([{}])), { budget })
      return turn
    })
    expect(new Set(await Promise.all(ended)).size).toBe(20)
    isRunning = false
  })

  test('goes first to the query that has computed least', async () => {
    const turns = new QueryTurns(fixedClock)
    const order: number[] = []
    await Promise.all([30, 10, 20].map((steps) => turns.take(steps).then(() => order.push(steps))))
    expect(order).toEqual([10, 20, 30])
  })
})
