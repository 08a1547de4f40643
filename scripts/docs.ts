import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { flag, readArguments } from './command-line/read-arguments.ts'
import { checkSidebar, checkSite } from './docs/check-site.ts'
import { installBeside } from './install-beside.ts'
import { ROOT } from './repository.ts'
import { runProgram } from './run-program.ts'

const USAGE = `npm run docs [-- --untested], npm run docs:serve

Checks the documentation against the code, builds it as a site into site/dist, and checks that. Prints one line per step; the first
gap ends it with the reason.

  --untested  leaves out the tests that compare pages with the code, for those who run \`npm test\`, too
  --serve     (docs:serve) builds the site, without checks, and serves it on this machine`

/** Tests that compare pages with the code, by what they compare. */
const COMPARED: Readonly<Record<string, string>> = {
  links: 'scripts/broken-links.test.ts',
  'commands and blocks of code': 'scripts/fences.test.ts',
  'options, events, metrics and commands': 'scripts/reference-pages.test.ts',
  'ranges of options': 'scripts/reference-ranges.test.ts',
  pictures: 'scripts/pictures.test.ts',
  'error codes': 'scripts/errors-page.test.ts',
  guarantees: 'scripts/check-guarantees.test.ts',
  rules: 'scripts/spec-rules.test.ts',
  'cases of the gateway': 'scripts/gateway-table.test.ts',
  'cases of Service Bus clients': 'scripts/service-bus-table.test.ts',
}

/** A gap in the documentation; the message says which. */
class GapError extends Error {}

const { values } = readArguments(USAGE, { untested: flag(), serve: flag() })
try {
  if (values.serve) await serve()
  else await checkAndBuild()
} catch (error) {
  if (!(error instanceof GapError)) throw error
  console.error(error.message)
  process.exitCode = 1
}

async function checkAndBuild(): Promise<void> {
  await step('sidebar', () => failOn(checkSidebar()))
  if (!values.untested) {
    await step(Object.keys(COMPARED).join(', '), () =>
      node('node_modules/vitest/vitest.mjs', 'run', ...Object.values(COMPARED)),
    )
  }
  await step('packages of the site', async () => {
    await installBeside('site')
    return ''
  })
  await step('types of the site', () => node('site/node_modules/typescript/bin/tsc', '-p', 'site'))
  await step('API reference', writeApi)
  await step('site', buildSite)
  await step('pages, links, assets and search of the site', async () => {
    const { pages, problems } = await checkSite()
    failOn(problems)
    return `${pages} pages`
  })
  await step('examples', () => node('scripts/check-snippets.ts'))
  await step('tutorials', () => node('--conditions=@tidemark/source', 'scripts/check-tutorials.ts'))
}

async function serve(): Promise<void> {
  await installBeside('site')
  await writeApi()
  await buildSite()
  const args = ['site/node_modules/vitepress/bin/vitepress.js', 'preview', 'site']
  await once(spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' }), 'exit')
}

function writeApi(): Promise<string> {
  rmSync(join(ROOT, 'docs/api'), { recursive: true, force: true })
  return node('site/api-reference.ts')
}

function buildSite(): Promise<string> {
  return node('site/node_modules/vitepress/bin/vitepress.js', 'build', 'site')
}

async function step(name: string, run: () => Promise<string> | string): Promise<void> {
  const start = performance.now()
  try {
    const summary = await run()
    const seconds = ((performance.now() - start) / 1_000).toFixed(1)
    console.log(`${name}: ${summary.trim().split('\n').at(-1) || 'ok'} (${seconds} s)`)
  } catch (error) {
    if (error instanceof GapError) error.message = `${name}: FAILED\n${error.message}`
    throw error
  }
}

function failOn(problems: readonly string[]): string {
  if (problems.length > 0) throw new GapError(problems.join('\n'))
  return ''
}

function node(...args: readonly string[]): Promise<string> {
  return output(process.execPath, args)
}

/** What a program of ours prints; if it fails, that is the reason. */
async function output(command: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(command, args, { cwd: ROOT })
  if (code !== 0) throw new GapError(stdout + stderr)
  return stdout
}
