import { InvalidDocumentError } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { settle } from '@tidemark/testing'
import { CommandLane } from './command-lane.ts'

/** A lane whose commands end when the test says so. */
function heldLane(weigh: (request: number) => { items: number; bytes: number }): {
  readonly lane: CommandLane<number, number>
  readonly groups: (readonly number[])[]
  readonly finish: (error?: Error) => Promise<void>
} {
  const groups: (readonly number[])[] = []
  const ends: PromiseWithResolvers<void>[] = []
  const lane = new CommandLane<number, number>(async (requests) => {
    groups.push(requests)
    const end = Promise.withResolvers<void>()
    ends.push(end)
    await end.promise
    return requests.map((request) => request * 10)
  }, weigh)
  return {
    lane,
    groups,
    async finish(error) {
      const end = ends.shift()
      if (error === undefined) end?.resolve()
      else end?.reject(error)
      await settle(3)
    },
  }
}

const one = (): { items: number; bytes: number } => ({ items: 1, bytes: 1 })

test('calls of one turn, and those made while a command is on its way, go together', async () => {
  const { lane, groups, finish } = heldLane(one)
  const first = [1, 2].map((request) => lane.call(request))
  await settle(3)
  const second = [3, 4, 5].map((request) => lane.call(request))
  await settle(3)
  expect(groups).toEqual([[1, 2]])
  await finish()
  expect(await Promise.all(first)).toEqual([10, 20])
  expect(groups).toEqual([
    [1, 2],
    [3, 4, 5],
  ])
  await finish()
  expect(await Promise.all(second)).toEqual([30, 40, 50])
})

test('a command is bounded in items and in bytes, but takes at least one call', async () => {
  const byItems = heldLane((items) => ({ items, bytes: 0 }))
  const calls = [600, 400, 1, 5000, 2].map((request) => byItems.lane.call(request))
  for (let turn = 0; turn < 5; turn++) await settle(3).then(() => byItems.finish())
  await Promise.all(calls)
  expect(byItems.groups).toEqual([[600, 400], [1], [5000], [2]])

  const byBytes = heldLane((mebibytes) => ({ items: 1, bytes: mebibytes * 1024 * 1024 }))
  const larger = [3, 1, 1, 9].map((request) => byBytes.lane.call(request))
  for (let turn = 0; turn < 4; turn++) await settle(3).then(() => byBytes.finish())
  await Promise.all(larger)
  expect(byBytes.groups).toEqual([[3, 1], [1], [9]])
})

test('a signal takes a call out before its command, and lets the command go on afterwards', async () => {
  const { lane, groups, finish } = heldLane(one)
  const sent = new AbortController()
  const unsent = new AbortController()
  const first = lane.call(1, sent.signal)
  await settle(3)
  const second = lane.call(2, unsent.signal)
  const third = lane.call(3)
  sent.abort(new Error('sent'))
  unsent.abort(new Error('unsent'))
  await expect(first).rejects.toThrow('sent')
  await expect(second).rejects.toThrow('unsent')
  await finish()
  await finish()
  expect(await third).toBe(30)
  expect(groups).toEqual([[1], [3]])
  await expect(lane.call(4, sent.signal)).rejects.toThrow('sent')
})

test('all calls of a command that fails reject, and the next command goes on', async () => {
  const { lane, finish } = heldLane(one)
  const first = [1, 2].map((request) => lane.call(request))
  const failed = Promise.all(first.map((call) => expect(call).rejects.toThrow('broken')))
  await settle(3)
  const second = lane.call(3)
  await finish(new Error('broken'))
  await failed
  await finish()
  expect(await second).toBe(30)
})

test('what is refused for one call is no error of the others', async () => {
  const { lane, groups, finish } = heldLane(one)
  const refused = new InvalidDocumentError('bad')
  const calls = [1, 2, 3].map((request) => lane.call(request))
  const answers = Promise.allSettled(calls)
  await settle(3)
  await finish(refused)
  await finish()
  await finish(refused)
  await finish()
  expect((await answers).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
  ])
  expect(groups).toEqual([[1, 2, 3], [1], [2], [3]])
})

test('a command may do the first calls only: the others follow', async () => {
  const groups: (readonly number[])[] = []
  const lane = new CommandLane<number, number>((requests) => {
    groups.push(requests)
    return Promise.resolve(requests.slice(0, 2))
  }, one)
  expect(await Promise.all([1, 2, 3].map((request) => lane.call(request)))).toEqual([1, 2, 3])
  expect(groups).toEqual([[1, 2, 3], [3]])
})
