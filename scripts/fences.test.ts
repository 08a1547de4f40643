import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'
import { expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { commandProblems, mentionProblems, type Names } from './fences/command-problems.ts'
import { readFences } from './fences/read-fences.ts'
import { shellCommands } from './fences/shell-commands.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PAGES = globSync(
  '{*,docs/**/*,{packages,examples}/*/README,{tests,bench,deploy}/README}.md',
  { cwd: ROOT },
)

function manifest(path: string): { readonly name: string; readonly scripts: object } {
  return JSON.parse(readFileSync(ROOT + path, 'utf8')) as ReturnType<typeof manifest>
}

const NAMES: Names = {
  root: ROOT,
  scripts: Object.keys(manifest('package.json').scripts),
  packages: globSync('packages/*/package.json', { cwd: ROOT }).map((path) => manifest(path).name),
}

/** What is wrong with a block of code, by its language. TypeScript is compiled by `npm run snippets`. */
const CHECKS: Readonly<Record<string, (text: string) => readonly string[] | Promise<string[]>>> = {
  sh: async (text) => {
    const problems = shellCommands(text).map((words) => commandProblems(words, NAMES))
    return (await Promise.all(problems)).flat()
  },
  json: (text) => thrownBy(() => JSON.parse(text)),
  yaml: (text) => thrownBy(() => parseYaml(text)),
  // Decorators, compiled by a test of its package.
  typescript: (text) => parseSync('example.ts', text).errors.map(({ message }) => message),
  ts: () => [],
  sql: () => [],
  text: () => [],
}

function thrownBy(work: () => unknown): readonly string[] {
  try {
    work()
    return []
  } catch (error) {
    return [String(error)]
  }
}

async function problemsOf(markdown: string): Promise<readonly string[]> {
  const problems: string[] = []
  for (const { line, language, text } of readFences(markdown)) {
    const check = CHECKS[language] ?? (() => [`nothing checks the language "${language}"`])
    for (const problem of await check(text)) problems.push(`${line}: ${problem}`)
  }
  const sentences = markdown.replaceAll(/^```.*?^```$/gms, '')
  for (const [, mention = ''] of sentences.matchAll(/`(?:npx )?tidemark ([a-z][^`]*)`/g)) {
    problems.push(...(await mentionProblems(mention)))
  }
  return problems
}

test('the pages are found', () => {
  expect(PAGES).toContain('README.md')
  expect(PAGES).toContain('docs/guide/command-line.md')
  expect(PAGES.length).toBeGreaterThan(80)
})

test.each(PAGES)('commands and blocks of code in %s name what exists', async (page) => {
  expect(await problemsOf(readFileSync(ROOT + page, 'utf8'))).toEqual([])
})

test.each([
  ['npx tidemark list shop', /^2: there is no command list$/],
  ['tidemark dlq send shop/orders', /^2: tidemark dlq: .*unknown command/],
  ['tidemark ls shop --stor ./data', /^2: tidemark ls: .*unknown option '--stor'/],
  ['tidemark get shop/orders', /^2: tidemark get: .*missing required argument/],
  ['tidemark ls shop orders', /^2: tidemark ls: .*too many arguments/],
  ['tidemark lag shop/orders --store data', /^2: tidemark lag: .*--group/],
  ['tidemark serve ./data --port x', /^2: tidemark serve: .*--port/],
  ['A=b tidemark ls | $ tidemark lst', /^2: there is no command lst$/],
  ['npm run tests', /^2: there is no script tests$/],
  ['npm run -s tidemark -- lst', /^2: there is no command lst$/],
  ['npm install tidemark @tidemark/gate', /^2: there is no package @tidemark\/gate$/],
  ['node --conditions=@tidemark/source examples/none.ts', /^2: there is no examples\/none.ts$/],
])('%s is refused', async (command, problem) => {
  expect(await problemsOf(`\`\`\`sh\n${command}\n\`\`\`\n`)).toEqual([
    expect.stringMatching(problem),
  ])
})

test('commands in sentences are looked at, too', async () => {
  expect(await problemsOf('`tidemark dlq ls | show`, `tidemark leases ls --group mirror`')).toEqual(
    [],
  )
  expect(await problemsOf('`tidemark lst`, `npx tidemark leases ls --grup mirror`')).toEqual([
    'there is no command lst',
    'tidemark leases ls --grup mirror: there is no --grup',
  ])
})

test('other languages are refused, and what does not parse', async () => {
  expect(await problemsOf('```js\na\n```\n```json\n{\n```\n')).toEqual([
    '2: nothing checks the language "js"',
    expect.stringMatching(/^5: SyntaxError/),
  ])
})

test('commands are told apart as a shell does', () => {
  expect(
    shellCommands(
      [
        'a "b c" \'d # e\' f\\',
        '  --g=\'{"h":1}\' > out.txt # a comment',
        'i | j k && l; m 2>&1 &',
        'source <(n o)',
      ].join('\n'),
    ),
  ).toEqual([
    ['a', 'b c', 'd # e', 'f', '--g={"h":1}'],
    ['i'],
    ['j', 'k'],
    ['l'],
    ['m'],
    ['source'],
    ['n', 'o'],
  ])
})
