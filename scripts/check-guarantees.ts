import { existsSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { ROOT } from './repository.ts'

const PAGE = 'docs/guarantees.md'
/** What is promised under each fault, in this order. */
const PROMISES = ['One owner', 'Stored position', 'Delivered', 'Order', 'Again', 'Fenced sink']
const LINK = /\[(?<text>[^\]]*)\]\((?<target>[^)\s]+)(?:\s+"(?<title>[^"]*)")?\)/g
/** An item of a list that is a link and nothing else: its text is the name of a test. */
const TEST = /^ *(?:-|(?<number>\d+)\.) \[(?<name>[^\]]*)\]\((?<target>[^)\s]+)\)$/
const PROMISE = /^- \*\*(?<promise>[^*]+):\*\* (?<answer>.*)$/
/** What is not shown by a test says so. */
const ARGUED = '(argued'

/** Reads a file of the repository; undefined when there is none. */
export type ReadFile = (path: string) => string | undefined

/**
 * What is wrong with `docs/guarantees.md`: links to files that are not there, names of tests that their files do not have, faults
 * without an answer for each promise, answers that name no test, tests that no answer names.
 */
export function brokenGuarantees(markdown: string, readFile: ReadFile): string[] {
  const lines = unwrapped(markdown)
  return [
    ...lines.flatMap((line) => brokenNames(line, readFile)),
    ...faultsOf(lines).flatMap(([fault, body]) =>
      brokenAnswers(body).map((problem) => `${fault}: ${problem}`),
    ),
  ]
}

/** The lines of the page, with paragraphs and items in one line each. */
function unwrapped(markdown: string): readonly string[] {
  return markdown.replaceAll(/\n *(?! *(?:[-#|]|\d+\. |\n|$))(?=\S)/g, ' ').split('\n')
}

function brokenNames(line: string, readFile: ReadFile): string[] {
  const item = TEST.exec(line)?.groups
  const links = [...line.matchAll(LINK)].map(({ groups }) => ({
    target: groups?.['target'] ?? '',
    name: item?.['name'] ?? groups?.['title'],
  }))
  return links.flatMap(({ target, name }) => {
    if (target.startsWith('#')) return []
    const text = readFile(normalize(join('docs', target)))
    if (text === undefined) return [`${target} is not there`]
    const hasTest = name === undefined || text.includes(name.replace(/^… /, ''))
    return hasTest ? [] : [`${target} has no test named ${JSON.stringify(name)}`]
  })
}

/** The headings below "The faults", each with its lines. */
function faultsOf(lines: readonly string[]): readonly [string, readonly string[]][] {
  const start = lines.indexOf('## The faults')
  const end = lines.findIndex((line, index) => index > start && line.startsWith('## '))
  const faults = lines.slice(start, end < 0 ? undefined : end)
  return faults.flatMap((line, index) => {
    if (!line.startsWith('### ')) return []
    const rest = faults.slice(index + 1)
    const next = rest.findIndex((other) => other.startsWith('### '))
    return [[line.slice(4), next < 0 ? rest : rest.slice(0, next)]]
  })
}

function brokenAnswers(body: readonly string[]): string[] {
  const answers = body.flatMap((line) => {
    const { promise = '', answer = '' } = PROMISE.exec(line)?.groups ?? {}
    return promise === '' ? [] : [{ promise, answer, shownBy: numbersIn(answer) }]
  })
  const tests = body.flatMap((line) => TEST.exec(line)?.groups?.['number'] ?? [])
  const promises = answers.map(({ promise }) => promise)
  const named = new Set(answers.flatMap(({ shownBy }) => shownBy))
  return [
    ...(promises.join() === PROMISES.join() ? [] : [`answers for ${promises.join(', ')}`]),
    ...answers.flatMap(({ promise, answer, shownBy }) => {
      const isShown =
        shownBy.length === 0
          ? answer.includes(ARGUED)
          : shownBy.every((number) => tests.includes(number))
      return isShown ? [] : [`${promise}: ${JSON.stringify(answer)} names no test`]
    }),
    ...tests.filter((number) => !named.has(number)).map((number) => `test ${number} shows nothing`),
  ]
}

function numbersIn(answer: string): readonly string[] {
  return [...answer.matchAll(/\[(\d+)\](?!\()/g)].map(([, number]) => number ?? '')
}

if (import.meta.main) {
  const readFile: ReadFile = (path) =>
    existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : undefined
  const problems = brokenGuarantees(readFile(PAGE) ?? '', readFile)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
