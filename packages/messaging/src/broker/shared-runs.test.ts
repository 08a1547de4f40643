import { settle } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { SharedRuns } from './shared-runs.ts'

test('runs one at a time, and those who ask meanwhile share the next run', async () => {
  const runs = new SharedRuns()
  const ends: PromiseWithResolvers<void>[] = []
  const run = (): Promise<void> =>
    runs.run(1, () => {
      const end = Promise.withResolvers<void>()
      ends.push(end)
      return end.promise
    })
  const first = run()
  const second = run()
  const third = run()
  await settle(3)
  expect(ends).toHaveLength(1)
  ends[0]?.reject(new Error('first'))
  await expect(first).rejects.toThrow('first')
  await settle(3)
  expect(ends).toHaveLength(2)
  const fourth = run()
  ends[1]?.resolve()
  await Promise.all([second, third])
  await settle(3)
  expect(ends).toHaveLength(3)
  ends[2]?.resolve()
  await fourth
  void run()
  expect(ends).toHaveLength(4)
  ends[3]?.resolve()
})

test('other keys do not wait', async () => {
  const runs = new SharedRuns()
  const end = Promise.withResolvers<void>()
  const held = runs.run(1, () => end.promise)
  await runs.run(2, () => Promise.resolve())
  end.resolve()
  await held
})
