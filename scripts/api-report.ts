import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describeApi, type ApiReport, type Entry } from './api/describe-api.ts'
import { brokenPromises, freezeApi } from './api/released-api.ts'
import { ROOT } from './repository.ts'

/** The report of every package, by file name below `api/`. */
export async function apiReports(root: string): Promise<Map<string, ApiReport>> {
  const reports = new Map<string, ApiReport>()
  for (const folder of readdirSync(join(root, 'packages')).sort()) {
    const path = join(root, 'packages', folder, 'package.json')
    if (!existsSync(path)) continue
    const { name, exports } = JSON.parse(readFileSync(path, 'utf8')) as {
      readonly name: string
      readonly exports: Readonly<Record<string, string | { readonly types?: string }>>
    }
    const entries = Object.entries(exports).flatMap(([entry, target]): Entry[] =>
      typeof target === 'object' && target.types !== undefined
        ? [{ name: entry, file: join(root, 'packages', folder, target.types) }]
        : [],
    )
    reports.set(`${folder}.txt`, await describeApi(name, entries))
  }
  return reports
}

/** What is wrong with the files in `api/`, one paragraph each. */
export function staleReports(folder: string, reports: ReadonlyMap<string, string>): string[] {
  const found: string[] = []
  for (const [file, report] of reports) {
    const path = join(folder, file)
    if (!existsSync(path)) found.push(`api/${file} is missing`)
    else {
      const changes = changedLines(readFileSync(path, 'utf8'), report)
      if (changes !== '') found.push(`api/${file} differs from the built declarations:\n${changes}`)
    }
  }
  for (const file of existsSync(folder) ? readdirSync(folder) : []) {
    if (file.endsWith('.txt') && !reports.has(file)) found.push(`api/${file} belongs to no package`)
  }
  return found
}

/** The lines that only one side has, marked as in a diff. Which lines is enough here; `git diff` shows where. */
function changedLines(before: string, after: string): string {
  if (before === after) return ''
  const removed = linesMissingFrom(before, after).map((line) => `  - ${line}`)
  const added = linesMissingFrom(after, before).map((line) => `  + ${line}`)
  return [...removed, ...added].join('\n') || '  (the order of lines)'
}

function linesMissingFrom(text: string, other: string): string[] {
  const left = new Map<string, number>()
  for (const line of other.split('\n')) left.set(line, (left.get(line) ?? 0) + 1)
  return text.split('\n').filter((line) => {
    const count = left.get(line) ?? 0
    left.set(line, count - 1)
    return count <= 0
  })
}

if (import.meta.main) {
  const folder = join(ROOT, 'api')
  const described = await apiReports(ROOT)
  const reports = new Map([...described].map(([file, { text }]) => [file, text]))
  const problems = [...described.values()].flatMap((report) => report.problems)
  if (process.argv.includes('--freeze')) {
    freezeApi(ROOT, reports)
    console.log('api: what is public is frozen for the releases of this version')
  } else if (process.argv.includes('--check')) {
    problems.push(...brokenPromises(ROOT, reports))
    const stale = staleReports(folder, reports)
    if (stale.length > 0) {
      stale.push('The API changed: run `npm run api`, look at the diff, and commit it.')
    }
    problems.push(...stale)
  } else {
    mkdirSync(folder, { recursive: true })
    for (const file of globSync('*.txt', { cwd: folder })) rmSync(join(folder, file))
    for (const [file, report] of reports) writeFileSync(join(folder, file), report)
    console.log(`api: wrote ${reports.size} reports`)
  }
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
  else console.log(`api: ${reports.size} reports are in order`)
}
