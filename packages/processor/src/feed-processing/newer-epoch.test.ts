import { expect, test } from 'vitest'
import { FencedWriteError } from '@tidemark/contracts'
import { newerEpochOf } from './newer-epoch.ts'

test('LE-11 a refused write names the epoch of the newer owner', () => {
  expect(newerEpochOf(new FencedWriteError('job', 7, 9), 7)).toBe(9)
})

test('LE-11 so does an error that it caused, or one that came from another thread as a plain one', () => {
  const refused = new FencedWriteError('job', 7, 9)
  const wrapped = new Error('the batch failed', { cause: new Error('so did', { cause: refused }) })
  expect(newerEpochOf(wrapped, 7)).toBe(9)
  const plain = Object.assign(new Error('x'), {
    code: 'ERR_FENCED_WRITE',
    epoch: 7,
    currentEpoch: 9,
  })
  expect(newerEpochOf(plain, 7)).toBe(9)
})

test('a fence of something else says nothing of this lease', () => {
  expect(newerEpochOf(new FencedWriteError('of its own', 3, 9), 7)).toBeUndefined()
  expect(newerEpochOf(new FencedWriteError('job', 7, 7), 7)).toBeUndefined()
  expect(newerEpochOf(new FencedWriteError('job', 7, 6), 7)).toBeUndefined()
})

test('nor does any other error, whatever it is made of', () => {
  const endless = new Error('its own cause')
  endless.cause = endless
  const hostile = {
    get code(): string {
      throw new Error('not to be read')
    },
  }
  const others = [
    undefined,
    null,
    'ERR_FENCED_WRITE',
    new Error('x'),
    endless,
    hostile,
    new AggregateError([new FencedWriteError('job', 7, 9)]),
    { code: 'ERR_FENCED_WRITE' },
    { code: 'ERR_FENCED_WRITE', epoch: 7, currentEpoch: '9' },
    { code: 'ERR_POISON', epoch: 7, currentEpoch: 9 },
    AbortSignal.abort().reason,
  ]
  for (const other of others) expect(newerEpochOf(other, 7)).toBeUndefined()
})
