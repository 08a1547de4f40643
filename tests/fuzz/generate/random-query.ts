import type { SeededRandom } from '@tidemark/testing/simulation'
import { damaged, listOf, NAMES, randomJson } from './random-json.ts'

const FUNCTIONS = [
  'IS_DEFINED', 'ARRAY_CONTAINS', 'CONTAINS', 'STARTSWITH', 'ENDSWITH', 'UPPER', 'LOWER', 'LENGTH', 'SUBSTRING',
  'ABS', 'FLOOR', 'POWER', 'ROUND', 'CONCAT', 'REPLACE', 'REPLICATE', 'LEFT', 'RIGHT', 'REVERSE', 'INDEX_OF', 'LTRIM',
  'ARRAY_LENGTH', 'ARRAY_SLICE', 'ARRAY_CONCAT', 'IS_NUMBER', 'IS_STRING', 'ToString', 'StringToNumber', 'RegexMatch',
  'DateTimeAdd', 'GetCurrentDateTime', 'DateTimePart', 'COUNT', 'SUM', 'MIN', 'MAX', 'AVG', 'ST_DISTANCE', 'nonsense',
] // oxfmt-ignore
const OPERATORS = [
  '=', '!=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '||', '??', '&', '|', '^', 'AND', 'OR', 'LIKE', 'NOT LIKE',
] // oxfmt-ignore
const LITERALS = [
  '1', '-1', '0', '1.5e3', '1e400', "'a'", '"a"', "'it''s'", "'%_%_%_%a'", "'\\u0041'", "'(a+)+$'", 'null', 'true',
  'undefined', '@p', '@missing', '[]', '{}', "[1, 'a']", "{'a': 1}", '0x1F', "'😀'", "'red'",
] // oxfmt-ignore

/** The body of a query, mostly with a text that can be read. */
export function randomQueryBody(random: SeededRandom): string {
  if (random.chance(0.03)) return randomJson(random)
  const text = random.chance(0.8) ? randomQuery(random) : damaged(random, randomQuery(random))
  const query = random.chance(0.98) ? JSON.stringify(text) : randomJson(random)
  const parameters = random.chance(0.6)
    ? `,"parameters":[${listOf(random, 2, () => parameter(random))}]`
    : ''
  return `{"query":${query}${parameters}}`
}

function parameter(random: SeededRandom): string {
  if (random.chance(0.05)) return randomJson(random)
  return `{"name":"${random.pick(['@p', '@q', 'p', ''])}","value":${randomJson(random, 2)}}`
}

export function randomQuery(random: SeededRandom): string {
  const rare = (text: () => string, probability: number): string =>
    random.chance(probability) ? ` ${text()}` : ''
  const from = random.chance(0.85)
    ? 'c'
    : random.pick(['root c', 'c IN c.tags', 'c JOIN t IN c.tags', 'c.tags', 'x'])
  return (
    `SELECT${rare(() => 'DISTINCT', 0.1)}${rare(() => `TOP ${count(random)}`, 0.1)} ${selection(random)} FROM ${from}` +
    rare(() => `WHERE ${randomCondition(random, 4)}`, 0.7) +
    rare(() => `GROUP BY ${names(random)}`, 0.15) +
    rare(() => `ORDER BY ${names(random)}${random.pick(['', ' DESC', ' ASC'])}`, 0.3) +
    rare(() => `OFFSET ${count(random)} LIMIT ${count(random)}`, 0.15)
  )
}

/** An expression; now and then very deep or very long. */
export function randomCondition(random: SeededRandom, levels: number): string {
  if (random.chance(0.004)) return unusual(random)
  if (levels === 0 || random.chance(0.2)) {
    return random.chance(0.5) ? name(random) : random.pick(LITERALS)
  }
  const inner = (): string => randomCondition(random, levels - 1)
  switch (random.below(8)) {
    case 0:
      return `${random.pick(FUNCTIONS)}(${listOf(random, 3, inner)})`
    case 1:
      return `NOT ${inner()}`
    case 2:
      return `${inner()} IN (${listOf(random, 4, inner)})`
    case 3:
      return `${inner()} BETWEEN ${inner()} AND ${inner()}`
    case 4:
      return `(${inner()} ? ${inner()} : ${inner()})`
    case 5:
      return random.pick([
        `EXISTS(SELECT VALUE ${inner()} FROM t IN c.tags)`,
        `ARRAY(SELECT VALUE t FROM t IN c.tags WHERE ${inner()})`,
        `(${inner()})`,
      ])
    default:
      return `${inner()} ${random.pick(OPERATORS)} ${inner()}`
  }
}

function unusual(random: SeededRandom): string {
  const times = 10 ** (1 + random.below(4))
  return random.pick([
    () => '('.repeat(times) + '1' + ')'.repeat(times),
    () => 'NOT '.repeat(times) + 'true',
    () => `c${'.a'.repeat(times)}`,
    () => `c.n IN (${'1,'.repeat(times)}1)`,
    () => Array.from({ length: times }, () => 'c.n = 1').join(' OR '),
    () => `c.name LIKE '${'%a'.repeat(Math.min(times, 100))}b'`,
    () => `REPLICATE('x', 1e${random.below(12)}) = 'x'`,
    () => `RegexMatch('${'a'.repeat(40)}', '(a+)+b')`,
    () => '['.repeat(times),
    () => `'${'x'.repeat(times)}`,
    () => '- '.repeat(times) + '1',
  ])()
}

function selection(random: SeededRandom): string {
  return random.pick([
    () => '*',
    () => 'VALUE c',
    () => `VALUE ${randomCondition(random, 2)}`,
    () => `VALUE ${random.pick(['COUNT', 'SUM', 'MIN', 'MAX', 'AVG'])}(${name(random)})`,
    () => names(random),
    () => `${randomCondition(random, 2)} AS ${random.pick(['x', '__proto__', 'constructor'])}`,
  ])()
}

function name(random: SeededRandom): string {
  if (random.chance(0.2)) return `c["${random.pick(NAMES)}"]`
  if (random.chance(0.02)) return random.pick(['t', 'r.n'])
  return random.pick([
    'c',
    'c.id',
    'c.pk',
    'c.n',
    'c.name',
    'c.tags',
    'c.tags[0]',
    'c.a.b',
    'c.__proto__',
    'c._ts',
    't',
    'r.n',
  ])
}

function names(random: SeededRandom): string {
  return Array.from({ length: 1 + random.below(2) }, () => name(random)).join(', ')
}

function count(random: SeededRandom): string {
  return random.pick(['0', '1', '2', '5', '100', '-1', '99999999999999', '@p', '1.5'])
}
