import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ensureChromium,
  ensurePostgresServer,
  ensureRedisServer,
  startPostgresServer,
} from '@tidemark/testing/servers'
import { buildDashboard } from './build-dashboard.ts'
import { bundlePackages } from './bundle-packages.ts'
import { summarize, type TestReport } from './test-summary.ts'
import { installBeside } from './install-beside.ts'
import { ROOT } from './repository.ts'

// `npm test`: sees to the servers that tests need, runs vitest with the arguments it is given, and ends with one
// line, `N passed, N failed`. Without arguments it leaves out what is for `npm run nightly`.

const ARGS = process.argv.slice(2)
/** What has to pass before a change lands. */
const GATE = ['--project', 'gate']
/** Folders of tests whose packages are installed only for them. */
const BESIDE = [
  'examples/page',
  'scripts/release',
  'tests/azure-client/lowest',
  'tests/containers',
  'tests/otel',
  'tests/ui',
]
const SHARED_POSTGRES = 'TIDEMARK_TEST_POSTGRES_URL'
const folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'))
try {
  await using _servers = await provideServers()
  // Children run the bundled command.
  await bundlePackages()
  process.env['TIDEMARK_TEST_BUNDLED'] = '1'
  // A folder of its own, so that no report of an earlier run can be taken for this one's.
  const reportFile = join(folder, 'report.json')
  const exitCode = await runVitest(reportFile, ARGS.length === 0 ? GATE : ARGS)
  const report = existsSync(reportFile)
    ? (JSON.parse(await readFile(reportFile, 'utf8')) as TestReport)
    : undefined
  const { passed, failed, slowest } = summarize(report, exitCode)
  if (ARGS.length === 0) console.log(`slowest files:\n${slowest.join('\n')}`)
  if (failed > 0) process.exitCode = exitCode === 0 ? 1 : exitCode
  console.log(`${passed} passed, ${failed} failed`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  console.log('0 passed, 1 failed')
  process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Tests with real servers are never skipped silently: without a server there is no run. */
async function provideServers(): Promise<AsyncDisposable> {
  const redis = await ensureRedisServer({ onProgress: console.log })
  process.env['REDIS_SERVER_BIN'] = redis
  console.log(`redis: ${redis}`)
  const postgres = await ensurePostgresServer({ onProgress: console.log })
  process.env['POSTGRES_BIN'] = postgres
  console.log(`postgres: ${postgres}`)
  for (const folder of BESIDE) if (isAskedFor(folder)) await installBeside(folder)
  if (isAskedFor('tests/ui')) {
    const chromium = await ensureChromium({ onProgress: console.log })
    process.env['CHROMIUM_BIN'] = chromium
    console.log(`chromium: ${chromium}`)
    await buildDashboard()
  }
  return provideSharedPostgres()
}

/** Whether a filter names the folder, or something in or above it, or all tests of the night are run. */
function isAskedFor(folder: string): boolean {
  return ARGS.some(
    (arg) =>
      /^(?:--project=)?nightly$/.test(arg) || folder.startsWith(arg) || arg.startsWith(folder),
  )
}

/**
 * One PostgreSQL for all test files that only need a database, so that not each makes a server. One that is named
 * from outside is used as it is; tests of faults start their own in either case.
 */
async function provideSharedPostgres(): Promise<AsyncDisposable> {
  const given = process.env[SHARED_POSTGRES]
  if (given !== undefined && given !== '') {
    // Without the user and the password.
    console.log(`postgres for shared databases: ${new URL(given).host}, from ${SHARED_POSTGRES}`)
    return new AsyncDisposableStack()
  }
  const server = await startPostgresServer()
  process.env[SHARED_POSTGRES] = server.url()
  return server
}

async function runVitest(reportFile: string, args: readonly string[]): Promise<number> {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`]
  const child = spawn(process.execPath, [vitest, 'run', ...reporters, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
  })
  const stop = (): void => void child.kill('SIGTERM')
  // Also by Ctrl-C the run is ended by its tests, so that the shared server is stopped and its files removed.
  process.on('SIGTERM', stop).on('SIGINT', stop)
  try {
    const [code] = (await once(child, 'exit')) as [code: number | null]
    return code ?? 1
  } finally {
    process.off('SIGTERM', stop).off('SIGINT', stop)
  }
}
