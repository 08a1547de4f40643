import { globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './repository.ts'

const PAGE = 'docs/maintaining.md'

/** Names in code that a section mentions and no file has to which it links. Links are checked by `broken-links.ts`. */
function unknownNames(section: string): readonly string[] {
  const texts = [...section.matchAll(/\]\((?<target>\.\.[^)#]+)\)/g)].map(({ groups }) =>
    textBelow(join(ROOT, dirname(PAGE), groups?.['target'] ?? '')),
  )
  const names = section.matchAll(/(?<!\[)`(?<name>[A-Za-z_][A-Za-z_0-9]*)`(?!\])/g)
  return [...names]
    .map(({ groups }) => groups?.['name'] ?? '')
    .filter((name) => !texts.some((text) => new RegExp(String.raw`\b${name}\b`).test(text)))
}

function textBelow(path: string): string {
  const files = statSync(path).isDirectory() ? globSync('**/*.{ts,lua}', { cwd: path }) : ['']
  return files.map((file) => readFileSync(join(path, file), 'utf8')).join('\n')
}

test('a name or a script that the page for maintainers mentions exists', () => {
  const page = readFileSync(join(ROOT, PAGE), 'utf8')
  const sections = page.split(/^## /m).slice(1)
  expect(sections.length).toBeGreaterThan(10)
  const commands = new Set(['openStore', 'tsc'])
  const unknown = sections.flatMap((section) =>
    unknownNames(section).filter((name) => !commands.has(name)),
  )
  expect(unknown).toEqual([])
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const run = [...page.matchAll(/npm run (?<name>[a-z-]+)/g)].map(({ groups }) => groups?.['name'])
  expect(run.filter((name) => scripts[name ?? ''] === undefined)).toEqual([])
})

test('a name that no linked file has is found', () => {
  const link = '[here](../scripts/broken-links.ts)'
  expect(unknownNames(`\`brokenLinks\` and \`missingLinks\` ${link}`)).toEqual(['missingLinks'])
})
