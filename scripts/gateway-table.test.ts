import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readFeatures, withFeatures } from './gateway-table.ts'
import { readCases } from './gateway-table/read-cases.ts'
import { countCases } from './gateway-table/read-suite.ts'

const DOCUMENT = new URL('../docs/gateway.md', import.meta.url)

test('the table of what the gateway supports is what the suite says (node scripts/gateway-table.ts)', () => {
  const features = readFeatures()
  expect(countCases(features)).toBeGreaterThan(150)
  const present = readFileSync(DOCUMENT, 'utf8')
  expect(withFeatures(present, features)).toBe(present)
})

const SUITE = `
const LIST = ['a', 'b'] as const
describe('One', () => {
  let x = 1
  beforeAll(() => {})
  test('stands alone', () => {})
  test.each([1, 2, 3])('row %d', () => {})
  test.each(LIST)('named %s', () => {})
})
describe.each([['p'], ['q']])('Many %s', () => {
  test.each(LIST)('%s of each', () => {})
})`

test('cases alone, of tables, and of tables of features are counted', () => {
  expect(readCases('x.test.ts', SUITE)).toEqual([
    {
      name: 'One',
      cases: [
        { name: 'stands alone', count: 1 },
        { name: 'row …', count: 3 },
        { name: 'named …', count: 2 },
      ],
    },
    { name: 'Many …', cases: [{ name: '… of each', count: 4 }] },
  ])
})

test('of a suite those cases are read that every driver runs', () => {
  const family = (parameter: string) => `
const TWO = { a: 1, b: 2 }
export function family(${parameter}): void {
  describe.each(BOTH)('in a %s', () => {
    const three = [...Object.entries(TWO), 'c']
    test.each(three)('row %s', () => {})
    test.each(Object.keys({ ...TWO, ...(!isByClient && { c: 3 }) }))('key %s', () => {})
    test.skipIf(isByClient)('of the broker', () => {})
  })
}`
  expect(readCases('x.ts', family('{ open }: CaseParts'))).toEqual([
    {
      name: 'in a …',
      cases: [
        { name: 'row …', count: 6 },
        { name: 'key …', count: 4 },
      ],
    },
  ])
  expect(readCases('x.ts', family('open: OpenNamespace'))).toEqual([])
})

test('a title or a list that cannot be read is an error, not a case less', () => {
  const inside = (line: string) => `describe('One', () => { ${line} })`
  expect(() => readCases('x.test.ts', inside('test(title, () => {})'))).toThrow('title')
  expect(() => readCases('x.test.ts', inside("test.each(other())('x', () => {})"))).toThrow('list')
})

test('a document without the marked region is an error', () => {
  expect(() => withFeatures('# Nothing', [])).toThrow('region')
})
