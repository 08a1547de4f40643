import { expect, test } from 'vitest'
import { closingLine } from './report.ts'
import { timed } from './run-staged.ts'
import type { ScenarioResult } from './scenario.ts'

const FINE: Omit<ScenarioResult, 'name' | 'tookMs'> = {
  written: 100,
  faults: 2,
  signs: { kills: 2 },
  figures: undefined,
  lost: 0,
  outOfOrder: 0,
  duplicates: 3,
  bound: 20,
  boundText: '',
  wrong: [],
}

test('a run ends with what was seen, counted over all scenarios', async () => {
  const one = await timed('one', async () => FINE)
  const two = await timed('two', async () => FINE)
  expect(closingLine([one, two, one])).toBe(
    '2 scenarios, 6 faults seen, 0 lost, 0 out of order, 9 duplicates within bound',
  )
})

test('what failed is named', async () => {
  const bad = await timed('bad', async () => ({ ...FINE, lost: 1, duplicates: 30, wrong: ['a'] }))
  const broken = await timed('broken', () => Promise.reject(new Error('nobody came')))
  expect(broken.wrong[0]).toContain('nobody came')
  expect(closingLine([bad, broken])).toBe(
    '2 scenarios, 2 faults seen, 1 lost, 0 out of order, 30 duplicates NOT within bound, 2 failed: bad, broken',
  )
})
