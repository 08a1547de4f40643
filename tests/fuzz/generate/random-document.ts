import type { SeededRandom } from '@tidemark/testing/simulation'
import { listOf, NAMES, randomJson } from './random-json.ts'

const IDS = ['d0', 'd1', 'd2', 'd3', 'd4', 'd5', 'a b', 'é', '😀', "it's", '%41']
const KEYS = ['"a"', '"b"', '"c"', '5', 'true', 'null', '{}']

/** Few, so that requests meet documents of others. */
export function randomId(random: SeededRandom): string {
  return random.chance(0.95) ? random.pick(IDS) : random.pick(NAMES)
}

/** One entry of the partition key header. */
export function randomKey(random: SeededRandom): string {
  return random.pick(KEYS)
}

/** A document, for which a server that is right finds nothing to object to most of the time. */
export function randomDocument(
  random: SeededRandom,
  key: string,
  ownId: string = randomId(random),
): string {
  const id = random.chance(0.97) ? JSON.stringify(ownId) : randomJson(random, 1)
  const pk = random.chance(0.9) ? key : randomKey(random)
  const ttl = random.chance(0.1)
    ? `,"ttl":${random.pick(['1', '-1', '0', '100', '1.5', '"1"', '2147483648'])}`
    : ''
  const more = listOf(
    random,
    3,
    () => `${JSON.stringify(random.pick(NAMES.slice(3)))}:${randomJson(random)}`,
  )
  const named = `"name":"${random.pick(['red', 'green', 'blue'])}","n":${random.below(50)},"tags":["x","y"]`
  return `{"id":${id},${pk === '{}' ? '' : `"pk":${pk},`}${named}${ttl}${more === '' ? '' : `,${more}`}}`
}
