import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CUSTOMERS } from '../../data/order-document.ts'
import { countHandled, HandledLog, readHandled } from './handled-log.ts'
import { judgeHandled } from './judge-handled.ts'

const handled = (...entries: readonly (readonly [index: number, atMs: number])[]) =>
  entries.map(([index, atMs]) => ({ index, atMs }))

test('documents of one key in order, whoever handles them, and of other keys in any order', () => {
  const judged = judgeHandled([
    handled([0, 1], [2 * CUSTOMERS, 3]),
    handled([7, 1], [CUSTOMERS, 2], [3, 4]),
  ])
  expect(judged).toMatchObject({ repeats: 0, orderBreaks: 0 })
  expect(judged.first.get(CUSTOMERS)).toBe(2)
})

test('a document after a later one of its key breaks the order', () => {
  const judged = judgeHandled([handled([CUSTOMERS, 1]), handled([0, 2], [2 * CUSTOMERS, 3])])
  expect(judged).toMatchObject({ repeats: 0, orderBreaks: 1 })
})

test('a document that comes again is a repeat, and breaks no order', () => {
  const judged = judgeHandled([handled([0, 1], [CUSTOMERS, 2]), handled([0, 3], [CUSTOMERS, 4])])
  expect(judged).toMatchObject({ repeats: 2, orderBreaks: 0 })
})

test('a log has what a worker handled before its turn ended', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-bench-'))
  try {
    const path = join(folder, 'handled')
    using log = new HandledLog(path)
    log.add(5, 1.25)
    log.add(4, 1.5)
    await Promise.resolve()
    expect(countHandled(path)).toBe(2)
    expect(readHandled(path)).toEqual(handled([5, 1.25], [4, 1.5]))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
