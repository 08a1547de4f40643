import { existsSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

const LINK = /\[(?<text>[^\]]*)\]\((?<target>[^)\s]+)(?:\s+"(?<title>[^"]*)")?\)/g
/** What is not shown by a test says so. */
const ARGUED = '(argued'

/** Reads a file of the repository; undefined when there is none. */
export type ReadFile = (path: string) => string | undefined

/**
 * What is wrong with the links of `docs/guarantees.md`: files that are not there, names of tests that their files do not have,
 * cells of the table of faults that name no test.
 */
export function brokenGuarantees(markdown: string, readFile: ReadFile): string[] {
  const problems: string[] = []
  for (const { target, title } of linksOf(markdown)) {
    if (target.startsWith('#')) continue
    const text = readFile(normalize(join('docs', target)))
    if (text === undefined) problems.push(`${target} is not there`)
    else if (title !== undefined && !text.includes(title)) {
      problems.push(`${target} has no test named ${JSON.stringify(title)}`)
    }
  }
  for (const [fault = '', ...cells] of faultRows(markdown)) {
    for (const cell of cells) {
      const isShown = linksOf(cell).some(({ title }) => title !== undefined)
      if (!isShown && !cell.includes(ARGUED)) {
        problems.push(`${fault}: ${JSON.stringify(cell)} names no test`)
      }
    }
  }
  return problems
}

function linksOf(markdown: string): readonly { target: string; title: string | undefined }[] {
  return [...markdown.matchAll(LINK)].map(({ groups }) => {
    return { target: groups?.['target'] ?? '', title: groups?.['title'] }
  })
}

/** The table that begins with "Fault", without its head. */
function faultRows(markdown: string): string[][] {
  const lines = markdown.split('\n')
  const head = lines.findIndex((line) => line.startsWith('| Fault |'))
  const rows: string[][] = []
  for (const line of lines.slice(head + 2)) {
    if (!line.startsWith('|')) break
    rows.push(
      line
        .slice(1, -1)
        .split(' | ')
        .map((cell) => cell.trim()),
    )
  }
  return head < 0 ? [] : rows
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const readFile: ReadFile = (path) =>
    existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : undefined
  const problems = brokenGuarantees(readFile('docs/guarantees.md') ?? '', readFile)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
