import { expect, test } from 'vitest'
import { INDEX_NAME_PLACES, surveyJson } from './survey-json.ts'

test.each<[string, number]>([
  ['1', 0],
  ['"text, {[:"', 0],
  ['[]', 1],
  ['[{},{}]', 4],
  ['{"a":1,"b":[2,3]}', 8],
  ['"a \\" , \\\\"', 0],
  ['{"1":0}', 3 + INDEX_NAME_PLACES],
  ['{"12" \n: "34"}', 3 + INDEX_NAME_PLACES],
  ['["2026-01-31","2026-02-01"]', 2],
])('%j has %d places', (text, places) => {
  expect(surveyJson(text, 10).places).toBe(places)
})

test.each<[string, number]>([
  ['1', 0],
  ['[[{}],[]]', 3],
  ['"[["', 0],
  ['['.repeat(50), 11],
])('%j has levels: %d', (text, levels) => {
  expect(surveyJson(text, 10).levels).toBe(levels)
})

test.each<[string, boolean]>([
  ['[1e99, true, false, 12.5E+20]', false],
  ['1e309', true],
  ['1E+309', true],
  ['[1e-400]', false],
  [`[${'1'.repeat(199)},${'1'.repeat(199)}]`, false],
  ['1'.repeat(200), true],
  [`{"a":"${'1'.repeat(300)} 1e400"}`, false],
])('a number may be too large: %#', (text, mayOverflow) => {
  expect(surveyJson(text, 10).mayOverflow).toBe(mayOverflow)
})
