import { expect, test } from 'vitest'
import { EventStream } from './event-stream.ts'

const KIB = 1024

test('a client that does not read has 16 events waiting, or 1 MiB', () => {
  const small = new EventStream(() => {})
  for (let n = 0; n < 16; n += 1) {
    expect([n, small.isFull]).toEqual([n, false])
    small.send('x', '1')
  }
  expect(small.isFull).toBe(true)
  const large = new EventStream(() => {})
  large.send('x', 'a'.repeat(1000 * KIB))
  expect(large.isFull).toBe(false)
  large.send('x', 'a'.repeat(24 * KIB))
  expect(large.isFull).toBe(true)
})

test('a client that has read nothing for four comments is taken for gone', async () => {
  let ends = 0
  const stream = new EventStream(() => (ends += 1))
  stream.send('x', 'a'.repeat(1024 * KIB))
  for (let n = 0; n < 3; n += 1) stream.comment()
  const reader = stream.answer.body?.getReader()
  await reader?.read()
  stream.comment()
  await reader?.read()
  stream.send('x', 'a'.repeat(1024 * KIB))
  for (let n = 0; n < 3; n += 1) stream.comment()
  expect(ends).toBe(0)
  stream.comment()
  expect(ends).toBe(1)
  await reader?.read()
  expect(await reader?.read()).toMatchObject({ done: true })
})
