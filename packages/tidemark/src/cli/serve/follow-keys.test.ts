import { textLogger } from '@tidemark/contracts'
import { SimulatedClock } from '@tidemark/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { InputError } from '../input-error.ts'
import { followKeys } from './follow-keys.ts'
import type { ServedKeys } from './served-keys.ts'

const keys = (...readWrite: readonly string[]): ServedKeys => ({ readWrite, readOnly: [] })

let clock: SimulatedClock
let stopped: AbortController
/** What the file holds; an error: it cannot be read. */
let file: ServedKeys | Error
let replaced: ServedKeys[]
let told: string[]
let refused: string | undefined
let following: Promise<unknown>

beforeEach(() => {
  clock = new SimulatedClock()
  stopped = new AbortController()
  file = keys('secret-a')
  replaced = []
  told = []
  refused = undefined
  following = followKeys(
    {
      clock,
      logger: textLogger((line) => void told.push(line), 'info'),
      read: async () => {
        if (file instanceof Error) throw file
        return file
      },
      replace: (next) => {
        if (next.readWrite.some((key) => key === refused)) throw new InputError('it is no key')
        replaced.push(next)
      },
    },
    keys('secret-a'),
    stopped.signal,
  ).catch(() => {})
})
afterEach(async () => {
  stopped.abort()
  await following
  expect(clock.sleeping).toBe(0)
  // Never a key in what people read.
  expect(told.join('\n')).not.toContain('secret')
})

test('a new key counts within seconds, and once', async () => {
  await clock.advance(10_000)
  expect([replaced, told]).toEqual([[], []])
  file = keys('secret-a', 'secret-b')
  await clock.advance(5000)
  file = keys('secret-b')
  await clock.advance(10_000)
  expect(replaced).toEqual([keys('secret-a', 'secret-b'), keys('secret-b')])
  expect(told).toEqual([
    'tidemark: the keys in force were replaced: 2 allow everything, 0 only allow reads',
    'tidemark: the keys in force were replaced: 1 allow everything, 0 only allow reads',
  ])
})

test('a file that is still being written does not count', async () => {
  for (const part of ['s', 'sec', 'secret-b-w', 'secret-b-whole']) {
    file = keys(part)
    await clock.advance(2000)
  }
  expect(replaced).toEqual([])
  await clock.advance(2000)
  expect(replaced).toEqual([keys('secret-b-whole')])
})

test('a part of a key in force does not replace it, however long it stays', async () => {
  file = keys('secret-')
  await clock.advance(60_000)
  file = keys('secret-b', 'secret-')
  await clock.advance(60_000)
  expect(replaced).toEqual([])
  expect(told).toEqual([
    'tidemark: ERR_INPUT: a file of keys ends in the middle of a key: write it whole; the present keys stay in force',
  ])
  file = keys('secret-a', 'secret-b')
  await clock.advance(5000)
  expect(replaced).toEqual([keys('secret-a', 'secret-b')])
})

test('a key in force that begins as another one does stays whole', async () => {
  file = keys('secret-a', 'secret-and-more')
  await clock.advance(5000)
  file = keys('secret-a', 'secret-and-more', 'secret-b')
  await clock.advance(5000)
  expect(replaced).toHaveLength(2)
})

test('access policies are followed, too, also where only rights change', async () => {
  const policy = (rights: 'Listen' | 'Send', key: string): ServedKeys => ({
    ...keys('secret-a'),
    policies: [{ name: 'worker', keys: [key], rights: [rights] }],
  })
  file = policy('Listen', 'secret-w')
  await clock.advance(5000)
  file = policy('Send', 'secret-w')
  await clock.advance(5000)
  file = policy('Send', 'secret-')
  await clock.advance(5000)
  expect(replaced).toEqual([policy('Listen', 'secret-w'), policy('Send', 'secret-w')])
  expect(told[0]).toBe(
    'tidemark: the keys in force were replaced: 1 allow everything, 0 only allow reads, 1 access policies',
  )
  expect(told[2]).toMatch('ends in the middle of a key')
})

test('a file that cannot be read changes nothing, is told once, and counts again when it can', async () => {
  file = new InputError('--key-file ./key cannot be read')
  await clock.advance(60_000)
  expect(replaced).toEqual([])
  expect(told).toEqual([
    'tidemark: ERR_INPUT: --key-file ./key cannot be read; the present keys stay in force',
  ])
  file = keys('secret-b')
  await clock.advance(5000)
  expect(replaced).toEqual([keys('secret-b')])
})

test('keys that the gateway refuses change nothing, and are told once', async () => {
  refused = 'secret-c'
  file = keys('secret-c')
  await clock.advance(60_000)
  expect(told).toEqual(['tidemark: ERR_INPUT: it is no key; the present keys stay in force'])
  file = keys('secret-a')
  await clock.advance(5000)
  expect([replaced, told.length]).toEqual([[], 1])
})
