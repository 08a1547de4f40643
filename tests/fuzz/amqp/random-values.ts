import type { SeededRandom } from '@tidemark/testing/simulation'
import { value } from './raw-client.ts'

const EDGES = [0, 1, 2, 127, 255, 256, 2047, 2048, 65_535, 2 ** 31, 2 ** 32 - 1]
export const ADDRESSES = [
  'fuzz',
  'FUZZ/',
  '/fuzz',
  'fuzz/$DeadLetterQueue',
  'fuzz/$management',
  'sessions',
  'topic',
  'topic/Subscriptions/all',
  '$cbs',
  '$management',
  'nowhere',
  '',
  '/',
  '//',
  '$',
  'a'.repeat(300),
  'amqp://localhost/fuzz',
  'fuzz/$Transfer/$DeadLetterQueue',
  '__proto__',
  'fuzz/Subscriptions/x',
]
const TEXTS = [
  ...ADDRESSES,
  'constructor',
  'é😀',
  '\0',
  'amqp:accepted:list',
  'PLAIN',
  'x'.repeat(2000),
]

export function randomUint(random: SeededRandom): number {
  return random.chance(0.6) ? random.below(6) : random.pick(EDGES)
}

/** A value of any type, mostly whole. */
export function randomValue(random: SeededRandom, depth = 0): Buffer {
  const simple = [
    () => value.null,
    () => (random.chance(0.5) ? value.true : value.false),
    () => Buffer.from([0x56, random.below(3)]),
    () => value.ubyte(random.below(256)),
    () => value.ushort(random.below(65_536)),
    () => value.uint(randomUint(random)),
    () => value.ulong(random.below(256)),
    () => Buffer.concat([Buffer.from([random.pick([0x80, 0x81, 0x82, 0x83])]), bytesOf(random, 8)]),
    () => Buffer.concat([Buffer.from([random.pick([0x94, 0x98])]), bytesOf(random, 16)]),
    () => value.string(random.pick(TEXTS)),
    () => value.symbol(random.pick(TEXTS)),
    () => value.binary(bytesOf(random, random.below(40))),
  ]
  if (depth > 3 || random.chance(0.7)) return random.pick(simple)()
  const items = Array.from({ length: random.below(5) }, () => randomValue(random, depth + 1))
  return random.pick([
    () => value.list(...items),
    () => value.map(...items),
    () => Buffer.concat([Buffer.from([0]), randomValue(random, 5), randomValue(random, depth + 1)]),
    () =>
      value.described(
        random.pick([0x1d, 0x23, 0x24, 0x25, 0x27, 0x28, 0x29, 0x30]),
        value.list(...items),
      ),
    () => Buffer.concat([Buffer.from([0xe0, 4, 2, 0x52, 1, 2])]),
    () => Buffer.from([0xf0, 0, 0, 0, 5, 0, 0xff, 0xff, 0xff, 0x41]),
  ])()
}

export function bytesOf(random: SeededRandom, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)))
}
