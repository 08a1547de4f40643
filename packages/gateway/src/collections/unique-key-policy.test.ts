import { expect, test } from 'vitest'
import { KeyQueue } from './key-queue.ts'
import { uniqueKeysOf, uniqueValues } from './unique-key-policy.ts'

test('unique keys are read off a definition; what is none is passed over', () => {
  const uniqueKeys = [{ paths: ['/a', '/b/c'] }, { paths: [] }, 5, { paths: '/a' }]
  expect(uniqueKeysOf({ uniqueKeyPolicy: { uniqueKeys } })).toEqual([['/a', '/b/c']])
  expect(uniqueKeysOf({})).toEqual([])
})

test('what is missing counts as null, and types are told apart', () => {
  const values = (document: object): string => uniqueValues(document, ['/a', '/b/c'])
  expect(values({})).toBe(values({ a: null, b: 5 }))
  expect(values({ a: 1 })).not.toBe(values({ a: '1' }))
  expect(values({ a: 1, b: { c: 2 } })).toBe('[1,2]')
  expect(values(Object.create({ a: 1 }) as object)).toBe('[null,null]')
})

test('those of one key act one after the other, others do not wait, and failures stop nobody', async () => {
  const queue = new KeyQueue()
  const order: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = queue.run('k', async () => {
    await gate.promise
    order.push('first')
    throw new Error('failed')
  })
  const second = queue.run('k', async () => order.push('second'))
  await queue.run('other', async () => order.push('other'))
  gate.resolve()
  await expect(first).rejects.toThrow('failed')
  await second
  expect(order).toEqual(['other', 'first', 'second'])
})
