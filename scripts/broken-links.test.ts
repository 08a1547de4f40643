import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { brokenLinks, type ReadPage } from './broken-links.ts'
import { pageOf, ROOT } from './repository.ts'

test('every link of every page leads to a file of the repository, and to a heading of it', () => {
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '*.md']
  const pages = execFileSync('git', listed, { cwd: ROOT, encoding: 'utf8' }).trim().split('\n')
  const present = pages.filter((path) => existsSync(join(ROOT, path)))
  const readPage: ReadPage = (path) => {
    const file = join(ROOT, path)
    if (!existsSync(file)) return undefined
    return path.endsWith('.md') ? readFileSync(file, 'utf8') : ''
  }
  expect(present.flatMap((path) => brokenLinks(path, readPage))).toEqual([])
})

test('a link to a file, a folder or a heading that is not there is named', () => {
  const pages: Readonly<Record<string, string>> = {
    'docs/a.md':
      '# What `this` is\n[here](#what-this-is) [no](#gone) [b](b.md#second-part) [c](../c/d.ts)\n' +
      '```md\n[in a block](gone.md)\n```\n[out](https://example.org/x) [titled](e.md "a title")',
    'docs/b.md': '## First part\n',
  }
  expect(brokenLinks('docs/a.md', (path) => pages[path])).toEqual([
    'docs/a.md: #gone names no heading',
    'docs/a.md: b.md#second-part names no heading',
    'docs/a.md: ../c/d.ts is not there',
    'docs/a.md: e.md is not there',
  ])
})

test('a link by the address of the repository is followed into the tree', () => {
  const to = (path: string): string => `[x](${pageOf(path, 'blob')})`
  const pages: Readonly<Record<string, string>> = {
    'packages/a/README.md': `${to('docs/b.md')} ${to('docs/b.md#gone')} ${to('docs/c.md')}`,
    'docs/b.md': '## First part\n',
  }
  expect(brokenLinks('packages/a/README.md', (path) => pages[path])).toEqual([
    `packages/a/README.md: ${pageOf('docs/b.md#gone', 'blob')} names no heading`,
    `packages/a/README.md: ${pageOf('docs/c.md', 'blob')} is not there`,
  ])
})
