import type { SeededRandom } from '@tidemark/testing/simulation'

const NUMBERS = [
  '0', '-0', '1', '-1', '5', '0.1', '1e308', '1e400', '-1e400', '5e-324', '9007199254740993',
  '123456789012345678901234567890', '2147483647', '2147483648', '1E+2', '3.0',
] // oxfmt-ignore
const STRINGS = [
  '""', '"a"', '"b"', '"red"', '"\\u0000"', '"\\ud800"', '"\\udc00x"', '"😀"', '"\\ud83d"', '"é"',
  '"__proto__"', '"constructor"', '"*"', '"\\"5\\""', '"a/b"', '"c.d"', '"\\u202e"', '"1"', '"null"',
  '"2026-01-31T09:00:00Z"', '"[]"', '"[\\"a\\"]"',
] // oxfmt-ignore
/** Names of properties that somebody might forget to guard against, and ordinary ones. */
export const NAMES: readonly string[] = [
  'id', 'pk', 'ttl', 'name', 'tags', 'n', 'a', 'b', '_ts', '_etag', '_rid', '_self', '_lsn', '__proto__',
  'constructor', 'prototype', 'toString', 'hasOwnProperty', 'length', '', ' ', 'a.b', '/x', '$1', 'then',
] // oxfmt-ignore

/** A JSON text, well-formed most of the time, of at most so many levels. */
export function randomJson(random: SeededRandom, levels = 3): string {
  const kind = random.below(levels > 0 ? 11 : 7)
  if (kind < 3) return random.pick(NUMBERS)
  if (kind < 5) return random.pick(STRINGS)
  if (kind === 5) return random.pick(['true', 'false', 'null'])
  if (kind === 6) return randomLong(random)
  if (kind < 9) {
    return `{${listOf(random, 4, () => `${JSON.stringify(random.pick(NAMES))}:${randomJson(random, levels - 1)}`)}}`
  }
  return `[${listOf(random, 4, () => randomJson(random, levels - 1))}]`
}

function randomLong(random: SeededRandom): string {
  if (random.chance(0.98)) return JSON.stringify(random.pick(NAMES).repeat(random.below(30)))
  return random.pick([
    () => nested('[', ']', 10 ** (1 + random.below(5))),
    () => nested('{"a":', '}', 10 ** (1 + random.below(4)), '1'),
    () => JSON.stringify('x'.repeat(random.below(200_000))),
    () => `[${'1,'.repeat(random.below(50_000))}1]`,
  ])()
}

function nested(open: string, close: string, depth: number, core = ''): string {
  return open.repeat(depth) + core + close.repeat(depth)
}

export function listOf(random: SeededRandom, most: number, item: () => string): string {
  return Array.from({ length: random.below(most + 1) }, item).join(',')
}

/** A text with some of its characters taken out, doubled, replaced or cut off. */
export function damaged(random: SeededRandom, text: string): string {
  let result = text
  for (let hits = 1 + random.below(3); hits > 0; hits--) {
    const at = random.below(result.length + 1)
    const [before, after] = [result.slice(0, at), result.slice(at)]
    const what = random.below(5)
    if (what === 0) result = before + after.slice(1)
    else if (what === 1)
      result = before + random.pick(['"', '{', ']', ',', '\\', '0', 'é', ' ', "'", '(']) + after
    else if (what === 2) result = before
    else if (what === 3) result = before + after.slice(0, 8) + after
    else result = before + String.fromCharCode(random.below(0x250)) + after.slice(1)
  }
  return result
}

export function sometimesDamaged(random: SeededRandom, probability: number, text: string): string {
  return random.chance(probability) ? damaged(random, text) : text
}
