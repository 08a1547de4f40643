import { globSync, readFileSync } from 'node:fs'
import { ROOT } from './repository.ts'

const DIRECTIVE = /(?:oxlint|eslint)-disable(?:-next-line|-line)?\b(?<rest>.*)/
const NAMED_WITH_REASON = /^\s+[\w/@-]+(?:\s*,\s*[\w/@-]+)*\s+--\s+\S{2,}/

/** Every comment that switches the linter off names the rule and says why: `oxlint-disable-next-line rule -- reason`. */
export function unexplainedDisables(path: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => {
    const rest = DIRECTIVE.exec(line)?.groups?.['rest']
    if (rest === undefined || NAMED_WITH_REASON.test(rest)) return []
    return [`${path}:${index + 1} switches a rule off without naming it and saying why: -- reason`]
  })
}

if (import.meta.main) {
  const files = globSync('{packages/*/src,examples/*,tests,bench}/**/*.ts', {
    cwd: ROOT,
    exclude: (name) => name.includes('node_modules') || name.endsWith('/dist'),
  })
  const found = files.flatMap((file) =>
    unexplainedDisables(file, readFileSync(`${ROOT}/${file}`, 'utf8')),
  )
  for (const problem of found) console.error(problem)
  if (found.length > 0) process.exitCode = 1
}
