import { execFile } from 'node:child_process'
import { cp, glob, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { installPacked } from './install-packed.ts'
import { compile } from './snippets/compile.ts'
import { importsFor, readSnippets, type Snippet } from './snippets/read-snippets.ts'
import { ROOT } from './repository.ts'

/*
 * Compiles every TypeScript example of the documentation as a user would: outside the repository, against the packages as they are
 * published, under `strict`. Whole programs run too, and have to print what their page says.
 */

const run = promisify(execFile)
const PAGES = [
  'README.md',
  'docs/*.md',
  'docs/guide/*.md',
  'docs/recipes/*.md',
  'packages/*/README.md',
]
/** Where an example that is part of a program gets what it uses and does not import. */
const ENTRIES = [
  'tidemark',
  '@tidemark/gateway/client',
  '@tidemark/testing/conformance',
  '@tidemark/testing/simulation',
]
/** What examples import beside our packages. */
const COMPANIONS = [
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/exporter-prometheus',
  '@types/node',
  '@types/pg',
  '@types/ws',
  '@azure/cosmos',
  '@azure/service-bus',
  'vitest',
  'ws',
]

/** A snippet in a file of its own. */
interface Written {
  readonly snippet: Snippet
  readonly file: string
}

async function readAll(): Promise<Snippet[]> {
  const snippets: Snippet[] = []
  for await (const page of glob(PAGES, { cwd: ROOT })) {
    snippets.push(...readSnippets(page, await readFile(join(ROOT, page), 'utf8')))
  }
  return snippets
}

/** The names that each entry exports, of the packages that were unpacked. */
async function readExports(folder: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const code = `for (const entry of ${JSON.stringify(ENTRIES)}) console.log(JSON.stringify([entry, Object.keys(await import(entry))]))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: folder,
  })
  return new Map(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as [string, string[]]),
  )
}

/** Programs stand apart from the rest, which gets the context of its page. */
async function write(folder: string, snippets: readonly Snippet[]): Promise<Written[]> {
  const exports = await readExports(folder)
  const written: Written[] = []
  for (const [index, snippet] of snippets.entries()) {
    const { code, isProgram, page, line } = snippet
    const place = join(folder, isProgram ? 'programs' : 'parts')
    await mkdir(place, { recursive: true })
    const file = join(place, `${index}-${page.replaceAll(/\W+/g, '-')}-${line}.ts`)
    // Lines keep their numbers.
    await writeFile(file, isProgram ? code : `${importsFor(code, exports)}${code}\nexport {}\n`)
    written.push({ snippet, file })
  }
  await cp(join(ROOT, 'scripts/snippets/context.d.ts'), join(folder, 'parts/context.d.ts'))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  return written
}

/** Names the place on the page instead of that in the file. */
function onPage(message: string, folder: string, written: readonly Written[]): string {
  const [, path = '', line = '', rest] = /^([^(]+)\((\d+),\d+\): (.*)$/.exec(message) ?? []
  const found = written.find(({ file }) => file === join(folder, path))
  if (found === undefined) return message
  return `${found.snippet.page}:${found.snippet.line + Number(line) - 1}: ${rest}`
}

async function runProgram({ snippet, file }: Written): Promise<string[]> {
  const { page, line, output } = snippet
  const cwd = await mkdtemp(join(dirname(file), 'run-'))
  try {
    const { stdout, stderr } = await run(process.execPath, [file], { cwd, timeout: 300_000 })
    if (stdout === (output ?? stdout) && stdout !== '' && stderr === '') return []
    return [
      `${page}:${line}: prints ${JSON.stringify(stdout + stderr)}, and the page says ${JSON.stringify(output)}`,
    ]
  } catch (error) {
    return [`${page}:${line}: ${String(error)}`]
  }
}

const folder = await mkdtemp(join(tmpdir(), 'tidemark-snippets-'))
try {
  await installPacked(ROOT, { folder, companions: COMPANIONS })
  const snippets = await readAll()
  const written = await write(folder, snippets)
  const problems = [
    ...(await compile(folder, 'programs')),
    ...(await compile(folder, 'parts')),
  ].map((line) => onPage(line, folder, written))
  const programs = written.filter(({ snippet }) => snippet.isProgram)
  for (const program of programs) problems.push(...(await runProgram(program)))
  for (const problem of problems) console.error(problem)
  console.log(
    `${snippets.length} examples compiled, ${programs.length} of them run, ${problems.length} problems`,
  )
  if (problems.length > 0 || programs.length === 0) process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true })
}
