import { expect, test } from 'vitest'
import { readFiles, readSpecRules, specProblems, testsPage, type Files } from './spec-rules.ts'
import { readProtocolIds, readRules } from './spec-rules/read-rules.ts'
import { readTestNames } from './spec-rules/read-test-names.ts'

const repository = readFiles()

test('every ID has a rule, every rule a test or a reason, and no guide an ID', () => {
  const spec = readSpecRules(repository)
  expect(spec.rules.length).toBeGreaterThan(70)
  expect(spec.protocolIds.length).toBeGreaterThan(25)
  expect(specProblems(repository, spec)).toEqual([])
})

test('docs/spec/tests.md is what the names of the tests say (node scripts/spec-rules.ts)', () => {
  expect(repository.get('docs/spec/tests.md')).toBe(testsPage(readSpecRules(repository)))
})

test('a rule that is removed is missed where it is named', () => {
  const page = 'docs/spec/store.md'
  const text = repository.get(page) ?? ''
  const files = new Map(repository).set(page, text.replace('## ST-11\n', ''))
  expect(specProblems(files, readSpecRules(files))).toContainEqual(
    'packages/gateway/src/resources/unsupported.ts: ST-11 is no rule of docs/spec/',
  )
})

/** In pieces, because this file may name only what is a rule. */
const NO_RULE = ['ST', 99].join('-')
const RULE = '## ST-1\n\nIt holds.\n\n*Source:* ours.\n'
const SUITE = "test('ST-1 it holds', () => {})"
const FILES = {
  'docs/spec/store.md': RULE,
  'docs/spec/lease-protocol.md': '| I1 | One owner |\n',
  'tests/a.test.ts': SUITE,
}
const problemsOf = (
  files: Readonly<Record<string, string>>,
  untested: ReadonlyMap<string, string> = new Map(),
): readonly string[] => {
  const all: Files = new Map(Object.entries({ ...FILES, ...files }))
  return specProblems(all, readSpecRules(all, untested))
}

test('a rule with a test, and names that it gave, are enough', () => {
  expect(problemsOf({ 'packages/b/src/c.ts': '// By ST-1 and I1; compiled with -O2.' })).toEqual([])
})

test.each([
  ['an unknown ID', { 'packages/b.ts': `// ${NO_RULE}` }, `packages/b.ts: ${NO_RULE} is no rule`],
  ['an unknown invariant', { 'docs/b.md': `I${2} holds` }, `docs/b.md: I${2} is no rule`],
  ['an ID in a guide', { 'docs/guide/b.md': 'See ST-1' }, 'docs/guide/b.md: ST-1 means nothing'],
  ['an ID in a README', { 'packages/b/README.md': 'ST-1' }, 'README.md: ST-1 means nothing'],
  ['a renamed test', { 'tests/a.test.ts': "test('it holds')" }, 'ST-1 is in no name of a test'],
  [
    'a test that is skipped',
    { 'tests/a.test.ts': "test.skip('ST-1 holds')" },
    'ST-1 is in no name',
  ],
  ['a comment alone', { 'tests/a.test.ts': '// ST-1 holds' }, 'ST-1 is in no name of a test'],
  ['a rule without a source', { 'docs/spec/store.md': '## ST-1\n\nIt holds.' }, 'has no source'],
  ['a rule without a word', { 'docs/spec/store.md': '## ST-1\n\n*Source:* ours.' }, 'says nothing'],
  ['a rule that is there twice', { 'docs/spec/leases.md': RULE }, 'leases.md: ST-1 is there twice'],
])('%s is told', (_, files, problem) => {
  expect(problemsOf(files)).toEqual([expect.stringContaining(problem)])
})

test('a reason stands in for a test, but not beside one, nor for what is no rule', () => {
  const reason = new Map([['ST-1', 'it cannot be tested']])
  expect(problemsOf({ 'tests/a.test.ts': '' }, reason)).toEqual([])
  expect(problemsOf({}, reason)).toEqual(['ST-1 has a test, and a reason why not'])
  expect(problemsOf({}, new Map([[NO_RULE, 'x']]))).toEqual([
    `${NO_RULE} has a reason, but is no rule`,
  ])
})

test('rules and the IDs of the protocol are read off their pages', () => {
  const second = '## ST-2\n\nSo does\nthis.\n\n*Source:* X.\n'
  expect(readRules('store.md', `# Store\n\nRules.\n\n${RULE}\n${second}`)).toEqual([
    { id: 'ST-1', page: 'store.md', text: 'It holds.', source: 'ours.' },
    { id: 'ST-2', page: 'store.md', text: 'So does\nthis.', source: 'X.' },
  ])
  expect(readProtocolIds('| I1 | a |\n| O12 | b, see I2 |\n| x | y |')).toEqual(['I1', 'O12'])
})

test('the table says each rule in its first sentence', () => {
  const rule = '## ST-1\n\nIt holds for `a.b` and\nc | d. Always.\n\nSo there.\n\n*Source:* ours.\n'
  const files: Files = new Map(Object.entries({ ...FILES, 'docs/spec/store.md': rule }))
  expect(testsPage(readSpecRules(files))).toContain(
    '| [ST-1](store.md#st-1) | It holds for `a.b` and c \\| d. | [a.test.ts](../../tests/a.test.ts) |',
  )
})

test('names of tests are titles, rows of tables, and checks that a text names', () => {
  const text = `
import x from 'ST-9'
describe('a', () => {
  test.each([['PH-4 row', 1], ['plain row', 2]])('%s', () => {})
  it.skipIf(true)(\`CF-1 in \${x}\`, () => expect('no name').toBe('no name'))
  test.skip('CF-2 not run', () => {})
  describe.todo('later', () => { test('CF-3 not run', () => {}) })
})
mutant('release', 'LE-11 the epoch stays', { why: 'because of LE-12' })`
  expect(readTestNames('a.test.ts', text)).toEqual([
    'a',
    '%s',
    'PH-4 row',
    'CF-1 in …',
    'LE-11 the epoch stays',
  ])
})
