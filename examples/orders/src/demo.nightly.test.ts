import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runDemo } from './run-demo.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-orders-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('EXP-16 SET-03 SES-12 orders are handled in order per customer, expire, die and come back', async () => {
  const lines: string[] = []
  const result = await runDemo(folder, (line) => lines.push(line))
  expect(result).toEqual({
    handled: { ann: ['a1', 'a2'], bob: ['b2', 'b1'] },
    deadLetters: { e1: 'TTLExpiredException', b1: 'MaxDeliveryCountExceeded' },
  })
  expect(lines.filter((line) => line.startsWith('b1 is refused'))).toHaveLength(3)
  expect(lines.at(-1)).toBe('b1 of bob is handled; 910 spent so far')
})
