import { SeededRandom } from '@tidemark/testing/simulation'
import { sequenceSeed } from '../../model/sequence-seed.ts'

/** A query that a client with a read-only key may send to hurt others. */
export interface CostlyQuery {
  readonly text: string
  readonly parameters: readonly { readonly name: string; readonly value: unknown }[]
  readonly headers: Readonly<Record<string, string>>
  /** Over the documents, or over the list of databases, which the same evaluator answers. */
  readonly over: 'documents' | 'databases'
}

/** Property `big` of the documents that queries go to: it almost fits a pattern at each of its places. */
export const BIG_TEXT: string = `${'a'.repeat(400_000)}b`
/** Their property `list`. */
export const LONG_LIST: readonly number[] = Array.from({ length: 20_000 }, (_, n) => n % 5000)

/** Query number `index` of a seed: always the same. */
export function generateCostlyQuery(seed: number, index: number): CostlyQuery {
  const random = new SeededRandom(sequenceSeed(seed, index))
  const text = costlyText(random)
  const used = PARAMETERS.filter(({ name }) => text.includes(name))
  return {
    text,
    parameters: used,
    headers: {
      ...(random.chance(0.05) && { 'x-ms-cosmos-is-query-plan-request': 'True' }),
      ...(random.chance(0.5) && { 'x-ms-max-item-count': random.pick(['1', '100', '10000']) }),
    },
    over: random.chance(0.9) ? 'documents' : 'databases',
  }
}

/** Made once: they are large. */
const PARAMETERS: CostlyQuery['parameters'] = [
  { name: '@list', value: Array.from({ length: 300 }, (_, n) => n) },
  { name: '@objects', value: Array.from({ length: 20_000 }, (_, n) => ({ n, list: [n] })) },
  { name: '@same', value: Array.from({ length: 20_000 }, (_, n) => ({ n, list: [n] })) },
  { name: '@text', value: 'a'.repeat(500_000) },
  { name: '@deep', value: '['.repeat(100_000) + ']'.repeat(100_000) },
  { name: '@nested', value: nested(900) },
  { name: '@wide', value: wide(1) },
  { name: '@other_wide', value: wide(2) },
  { name: '@named', value: { ['n'.repeat(500_000)]: 1 } },
  { name: '@set', value: `%[${apart(900)}]` },
  { name: '@letters', value: apart(50_000) },
]

/** An object of many properties, of which the first differs. */
function wide(first: number): unknown {
  return { first, ...Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`name${n}`, n])) }
}

/** Letters of which no two are neighbours. */
function apart(count: number): string {
  return Array.from({ length: count }, (_, n) =>
    String.fromCharCode(0x100 + ((2 * n) % 0xd000)),
  ).join('')
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)]
}

function costlyText(random: SeededRandom): string {
  const value = (): string => costlyValue(random, 3)
  const from = joins(random)
  return random.pick([
    () => `SELECT VALUE ${value()} FROM c`,
    () => `SELECT VALUE ${value()} FROM c ${from}`,
    () => `SELECT VALUE COUNT(1) FROM c ${from} WHERE ${value()} = -1`,
    () => `SELECT ${random.pick(['MIN', 'MAX', 'SUM', 'COUNT'])}(${value()}) AS x FROM c ${from}`,
    () => `SELECT DISTINCT VALUE ${value()} FROM c ${from}`,
    () => `SELECT VALUE c.id FROM c ${from} ORDER BY ${value()}`,
    () => `SELECT g, MAX(${value()}) AS x FROM c JOIN g IN ${list(random)} GROUP BY g`,
    () => `SELECT g, ${text(random, 2)} AS x FROM c JOIN g IN ${list(random)} GROUP BY g`,
    () => `SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE ${value()} FROM c ${from})`,
    () => `SELECT * FROM c WHERE ${value()} = ${value()} OFFSET ${random.below(9)} LIMIT 9`,
    () => longText(random),
  ])()
}

/** Each of them multiplies the rows, or keeps what it makes for them. */
function joins(random: SeededRandom): string {
  const names = ['p', 'q', 'r', 's', 't', 'u'].slice(0, 1 + random.below(6))
  const source = (name: string): string =>
    random.chance(0.8) ? `${name} IN ${list(random)}` : `${kept(random)} ${name}`
  return names.map((name) => `JOIN ${source(name)}`).join(' ')
}

function kept(random: SeededRandom): string {
  const value = random.pick(['{a: {}, b: [], c: {}}', `UPPER(c.big)`, `[1, 2, 3]`, 'ToString(v)'])
  return `(SELECT VALUE ${value} FROM v IN ${list(random)})`
}

function list(random: SeededRandom): string {
  return random.pick(['@list', 'c.list', `[${Array.from({ length: 40 }, (_, n) => n).join()}]`])
}

/** An expression of any type that takes long, or makes much. */
function costlyValue(random: SeededRandom, levels: number): string {
  const inner = (): string => (levels === 0 ? '1' : costlyValue(random, levels - 1))
  const rows = `FROM v${levels} IN ${list(random)} JOIN w${levels} IN ${list(random)}`
  return random.pick([
    () => `ARRAY(SELECT VALUE ${inner()} ${rows})`,
    () => `ARRAY(SELECT DISTINCT VALUE ${inner()} ${rows})`,
    () => `EXISTS(SELECT VALUE 1 ${rows} WHERE ${inner()} = -1)`,
    () => `(SELECT VALUE ${random.pick(['COUNT', 'MAX'])}(${inner()}) ${rows})`,
    () => `ARRAY_LENGTH(${array(random, levels)})`,
    () =>
      `ARRAY_CONTAINS(${array(random, levels)}, ${array(random, 0)}, ${String(random.chance(0.5))})`,
    () => `${array(random, levels)} = ${array(random, levels)}`,
    () => `LENGTH(${text(random, levels)})`,
    () => text(random, levels),
    () => `${text(random, 1)} LIKE ${pattern(random)}`,
    () =>
      `${random.pick(['CONTAINS', 'INDEX_OF', 'ENDSWITH'])}(${text(random, 2)}, ${text(random, 2)})`,
    () =>
      `${text(random, 1)} IN (${Array(1 + random.below(300))
        .fill(text(random, 0))
        .join()})`,
    () => `StringToArray(${random.pick(['@deep', text(random, 1)])})`,
    () => `${object(random)} = ${object(random)}`,
    () => `ARRAY_LENGTH(ObjectToArray(${object(random)}))`,
    () => `ARRAY_LENGTH(SetUnion([${object(random)}], [${object(random)}]))`,
    () => `ARRAY_CONTAINS([${object(random)}], ${object(random)}, true)`,
    () => `${random.pick(['TRIM', 'LTRIM', 'RTRIM'])}(${text(random, 1)}, @letters)`,
  ])()
}

function object(random: SeededRandom): string {
  return random.pick(['@wide', '@other_wide', '@named', '{a: {}, b: [], c: {}}'])
}

function array(random: SeededRandom, levels: number): string {
  if (levels === 0) return random.pick(['@list', '@objects', '@same', '@nested', 'c.list'])
  const inner = (): string => array(random, levels - 1)
  return random.pick([
    () => `SetUnion(${inner()}, ${inner()})`,
    () => `SetIntersect(${inner()}, ${inner()})`,
    () =>
      `ARRAY_CONCAT(${Array(2 + random.below(20))
        .fill(inner())
        .join()})`,
    () => `ARRAY(SELECT VALUE ${inner()} FROM z${levels} IN ${list(random)})`,
    () =>
      `StringSplit(${text(random, levels - 1)}, ${random.pick([`'a'`, `'y'`, `'aaaaaaaaaaaab'`])})`,
    () => `ARRAY_SLICE(${inner()}, 1)`,
  ])()
}

function text(random: SeededRandom, levels: number): string {
  if (levels === 0)
    return random.pick(['c.big', '@text', `REPLICATE('x', 10000)`, `REPLICATE('a', 9999)`])
  const inner = (): string => text(random, levels - 1)
  return random.pick([
    () => `REPLACE(REPLICATE('x', 10000), 'x', REPLICATE('${random.pick(['y', 'a'])}', 400))`,
    () => `REPLACE(${inner()}, ${random.pick([`'a'`, `'x'`, inner()])}, ${inner()})`,
    () => `CONCAT(${inner()}, ${inner()})`,
    () =>
      Array(2 + random.below(30))
        .fill(inner())
        .join(' || '),
    () => `${random.pick(['UPPER', 'LOWER', 'REVERSE', 'TRIM', 'LTRIM'])}(${inner()})`,
    () => `LEFT(${inner()}, ${10 ** (1 + random.below(5))})`,
    () => `RTRIM(${inner()}, 'ab')`,
    () => `ToString(${array(random, levels - 1)})`,
    () => `StringJoin(${array(random, levels - 1)}, ${inner()})`,
  ])()
}

function pattern(random: SeededRandom): string {
  const many = 100 + random.below(800)
  return random.pick([
    `'${'%a'.repeat(many / 2)}c'`,
    `'%${'a'.repeat(many)}c%'`,
    `'%${'_'.repeat(many)}c%'`,
    `'%${'[a-y]'.repeat(many / 5)}c%'`,
    `'%b'`,
    '@set',
  ])
}

/** Queries that take long to be read. */
function longText(random: SeededRandom): string {
  const many = 10 ** (2 + random.below(3))
  const each = (make: (n: number) => string): string =>
    Array.from({ length: many }, (_, n) => make(n)).join()
  return random.pick([
    () => `SELECT DISTINCT c.x FROM c ORDER BY c${'.a'.repeat(many)}`,
    () => `SELECT COUNT(1) AS n, c${'.a'.repeat(many)} AS x FROM c GROUP BY c.b`,
    () => `SELECT COUNT(1) AS n, ${'['.repeat(50)}${each(String)}${']'.repeat(50)} AS x FROM c`,
    () => `SELECT * FROM c WHERE c.n IN (${each(String)})`,
    () =>
      `SELECT VALUE 1 FROM c ${Array.from({ length: many }, (_, n) => `JOIN a${n} IN c.list`).join(' ')}`,
    () => `SELECT ${each((n) => `c.a${n}`)} FROM c ORDER BY ${each((n) => `a${n}`)}`,
    () => `SELECT VALUE ${'(SELECT VALUE '.repeat(60)}${each(String)}${')'.repeat(60)}`,
    () => `SELECT VALUE ${'('.repeat(many)}1${')'.repeat(many)}`,
    () => `SELECT VALUE ${'1+'.repeat(many * 20)}1`,
  ])()
}
