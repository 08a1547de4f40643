import type { SeededRandom } from '@tidemark/testing/simulation'
import { listOf, NAMES, randomJson } from './random-json.ts'
import { randomCondition } from './random-query.ts'

const OPERATIONS = ['add', 'set', 'replace', 'remove', 'incr', 'move']
const UNKNOWN = ['increment', 'test', '', '__proto__']
/** What documents have, so that many a patch succeeds. */
const PRESENT = ['/n', '/name', '/tags', '/tags/0', '/tags/-']

export function randomPatch(random: SeededRandom): string {
  const operations = `[${listOf(random, random.chance(0.05) ? 40 : 4, () => randomOperation(random))}]`
  if (random.chance(0.7)) return operations
  const condition = JSON.stringify(`from c where ${randomCondition(random, 3)}`)
  return `{"condition":${condition},"operations":${operations}}`
}

function randomOperation(random: SeededRandom): string {
  if (random.chance(0.05)) return randomJson(random)
  const op = random.pick(random.chance(0.97) ? OPERATIONS : UNKNOWN)
  const text = (value: string): string =>
    random.chance(0.98) ? JSON.stringify(value) : randomJson(random, 2)
  const value = random.chance(0.9) ? `,"value":${randomJson(random, 2)}` : ''
  const from = op === 'move' || random.chance(0.05) ? `,"from":${text(randomPath(random))}` : ''
  return `{"op":${text(op)},"path":${text(randomPath(random))}${value}${from}}`
}

function randomPath(random: SeededRandom): string {
  if (random.chance(0.7)) return random.pick(PRESENT)
  const steps = Array.from({ length: 1 + random.below(3) }, () =>
    random.chance(0.8)
      ? random.pick(NAMES)
      : random.pick(['0', '1', '-', '-1', '99999999999', '01', '~1', '~0', 'x'.repeat(2000)]),
  )
  return `${random.chance(0.95) ? '/' : ''}${steps.join('/')}`
}
