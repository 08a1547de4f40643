import { existsSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { brokenGuarantees, type ReadFile } from './check-guarantees.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const ofRepository: ReadFile = (path) => {
  const full = ROOT + path
  if (!existsSync(full)) return undefined
  return statSync(full).isFile() ? readFileSync(full, 'utf8') : ''
}

test('each guarantee names a test that exists', () => {
  const markdown = ofRepository('docs/guarantees.md') ?? ''
  expect(markdown.match(/^\| \*\*/gm)?.length).toBeGreaterThan(15)
  expect(brokenGuarantees(markdown, ofRepository)).toEqual([])
})

const FILES: Readonly<Record<string, string>> = { 'tests/a.test.ts': "test('a holds', () => {})" }
const table = (cell: string): string =>
  `| Fault | One owner |\n|---|---|\n| **None** | ${cell} |\n\nafter`
const check = (cell: string): string[] => brokenGuarantees(table(cell), (path) => FILES[path])

test('a file and a name that it has are enough, and so is an honest word', () => {
  expect(check('[yes](../tests/a.test.ts "a holds")')).toEqual([])
  expect(check('no (argued, not tested)')).toEqual([])
  expect(check('[yes](../tests/a.test.ts "a holds"); [how](#below)')).toEqual([])
})

test.each([
  ['[yes](../tests/b.test.ts "a holds")', '../tests/b.test.ts is not there'],
  ['[yes](../tests/a.test.ts "b holds")', '../tests/a.test.ts has no test named "b holds"'],
  ['yes', '**None**: "yes" names no test'],
  ['[yes](../tests/a.test.ts)', '**None**: "[yes](../tests/a.test.ts)" names no test'],
])('%s is told', (cell, problem) => {
  expect(check(cell)).toEqual([problem])
})
