import { existsSync, readFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { brokenGuarantees, type ReadFile } from './check-guarantees.ts'
import { ROOT } from './repository.ts'

const ofRepository: ReadFile = (path) => {
  const full = ROOT + path
  if (!existsSync(full)) return undefined
  return statSync(full).isFile() ? readFileSync(full, 'utf8') : ''
}

test('each guarantee names a test that exists', () => {
  const markdown = ofRepository('docs/guarantees.md') ?? ''
  expect(markdown.match(/^- \*\*One owner:\*\*/gm)?.length).toBeGreaterThan(20)
  expect(brokenGuarantees(markdown, ofRepository)).toEqual([])
})

const FILES: Readonly<Record<string, string>> = {
  'tests/a.test.ts': "test('a holds', () => {}); test('it is shown that b holds', () => {})",
}
const OTHERS = ['Stored position', 'Delivered', 'Order', 'Again', 'Fenced sink']
const fault = (answer: string, tests = '', others = OTHERS): string =>
  `## The faults\n\n### A host stalls\n\nFor long.\n\n- **One owner:** ${answer}\n` +
  others.map((promise) => `- **${promise}:** yes (argued)\n`).join('') +
  `\n${tests}\n\n## After\n\n### Else\n`
const check = (...page: Parameters<typeof fault>): string[] =>
  brokenGuarantees(fault(...page), (path) => FILES[path])

test('a test that its file has is enough, and so is an honest word', () => {
  expect(check('yes [1]', '1. [a\n   holds](../tests/a.test.ts)')).toEqual([])
  expect(check('yes\n  [1]; [how](#below)', '1. [… b holds](../tests/a.test.ts)')).toEqual([])
  expect(check('no (argued, not tested)')).toEqual([])
  expect(check('no (argued)', 'as [shown](../tests/a.test.ts "a\nholds") there')).toEqual([])
})

test.each([
  ['yes [1]', '1. [a holds](../tests/b.test.ts)', ['../tests/b.test.ts is not there']],
  [
    'yes [1]',
    '1. [c holds](../tests/a.test.ts)',
    ['../tests/a.test.ts has no test named "c holds"'],
  ],
  ['no (argued)', '  - [c](../tests/a.test.ts)', ['../tests/a.test.ts has no test named "c"']],
  ['no (argued)', '[x](../tests/a.test.ts "c")', ['../tests/a.test.ts has no test named "c"']],
  ['yes', '', ['A host stalls: One owner: "yes" names no test']],
  ['yes [2]', '', ['A host stalls: One owner: "yes [2]" names no test']],
  ['no (argued)', '1. [a holds](../tests/a.test.ts)', ['A host stalls: test 1 shows nothing']],
])('%s beside %j is told', (answer, tests, problems) => {
  expect(check(answer, tests)).toEqual(problems)
})

test('a fault without an answer for each promise is told', () => {
  expect(check('no (argued)', '', OTHERS.slice(1))).toEqual([
    'A host stalls: answers for One owner, Delivered, Order, Again, Fenced sink',
  ])
})
