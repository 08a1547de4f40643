import { expect, test } from 'vitest'
import { unexplainedDisables } from './check-disables.ts'

test('a rule and a reason are enough', () => {
  const text = `
// oxlint-disable-next-line no-console -- the command's own output
console.log(1) // oxlint-disable-line no-console, no-debugger -- the same
`
  expect(unexplainedDisables('a.ts', text)).toEqual([])
})

test.each([
  '// oxlint-disable-next-line no-console',
  '// oxlint-disable-next-line -- because',
  '/* oxlint-disable */',
  '// eslint-disable-line no-console --',
])('%s is not', (line) => {
  expect(unexplainedDisables('a.ts', line)).toEqual([expect.stringContaining('a.ts:1')])
})
