import { expect, test } from 'vitest'
import { CallQueue } from './call-queue.ts'

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
}

/** A task whose call goes on until it is ended, as a pump's does. */
function task(queue: CallQueue, begun: string[], name: string): PromiseWithResolvers<void> {
  const end = Promise.withResolvers<void>()
  void queue.add(async () => {
    begun.push(name)
    queue.callBegan()
    try {
      await end.promise
    } finally {
      queue.callEnded()
    }
  })
  return end
}

test('PH-13 calls start in their order, so many at a time', async () => {
  const begun: string[] = []
  const queue = new CallQueue(() => 2)
  const ends = ['a', 'b', 'c', 'd'].map((name) => task(queue, begun, name))
  await settle()
  expect(begun).toEqual(['a', 'b'])
  ends[1]!.resolve()
  await settle()
  expect(begun).toEqual(['a', 'b', 'c'])
  ends[0]!.resolve()
  await settle()
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
})

test('PH-13 a task that ends before its call keeps its place until the call has ended', async () => {
  const begun: string[] = []
  const queue = new CallQueue(() => 1)
  await queue.add(async () => queue.callBegan())
  task(queue, begun, 'next')
  await settle()
  expect(begun).toEqual([])
  queue.callEnded()
  await settle()
  expect(begun).toEqual(['next'])
})

test('PH-13 a task settles as what it does, and makes room for the next in any case', async () => {
  const queue = new CallQueue(() => 1)
  const failed = queue.add(async () => {
    throw new Error('no')
  })
  const begun: string[] = []
  task(queue, begun, 'next')
  await expect(failed).rejects.toThrow('no')
  await settle()
  expect(begun).toEqual(['next'])
})

test('PH-13 fewer places hold back what has not begun; more let it go on when the queue looks', async () => {
  let places = 1
  const begun: string[] = []
  const queue = new CallQueue(() => places)
  for (const name of ['a', 'b', 'c']) task(queue, begun, name)
  await settle()
  expect(begun).toEqual(['a'])
  places = 3
  queue.look()
  await settle()
  expect(begun).toEqual(['a', 'b', 'c'])
})
