import { glob, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { importsFor, readSnippets } from './snippets/read-snippets.ts'

const PAGE = [
  '# Page',
  '```ts',
  'part()',
  '```',
  '```ts run',
  'console.log(1)',
  '```',
  'It prints:',
  '```text',
  '1',
  '```',
  '```ts run',
  'console.log(2)',
  '```',
  '## Next',
  '```text',
  'not of the program',
  '```',
].join('\n')

test('examples are found with their line, and programs with what they print', () => {
  expect(readSnippets('page.md', PAGE)).toEqual([
    { page: 'page.md', line: 3, code: 'part()\n', isProgram: false, output: undefined },
    { page: 'page.md', line: 6, code: 'console.log(1)\n', isProgram: true, output: '1\n' },
    { page: 'page.md', line: 13, code: 'console.log(2)\n', isProgram: true, output: undefined },
  ])
})

test('an example gets imports of what it uses, and not of what it has', () => {
  const exports = new Map([
    ['a', ['used', 'unused', 'declared', 'imported', 'member']],
    ['b', ['used', 'other']],
  ])
  const code = [
    "import { imported } from 'c'",
    'const declared = used(imported)',
    'other.member()',
    'unusedToo()',
  ].join('\n')
  expect(importsFor(code, exports)).toBe("import { used } from 'a'; import { other } from 'b'; ")
})

test('what the pages have to copy runs on Node 22, which cannot parse `using`', async () => {
  const ofNode24: string[] = []
  const pages = ['{README,docs/*,docs/{guide,recipes}/*,packages/*/README}.md']
  for await (const page of glob(pages)) {
    for (const { code, line } of readSnippets(page, await readFile(page, 'utf8'))) {
      if (/^\s*(?:await )?using \w+ =/m.test(code)) ofNode24.push(`${page}:${line}`)
    }
  }
  expect(ofNode24).toEqual([])
})
