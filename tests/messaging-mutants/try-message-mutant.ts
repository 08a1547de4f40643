import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { mutate } from '../simulation/mutants/mutant.ts'
import { MESSAGE_MUTANTS } from './message-mutants.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The tests take seconds: a mutant that runs in circles is noticed, too. */
const STUCK_MS = 180_000
/** Units, and the suite of messages on a store in memory: by the broker itself, and by the official client. */
const TESTS = [
  'packages/store/src/messages/',
  'packages/engine-sqlite/src/messages-in-memory.test.ts',
  'tests/interop-amqp/suite.test.ts',
]
const SOURCES = new URL('../../packages/store/src/messages/', import.meta.url)

/**
 * Runs the tests that name a mutant's rule against it. Undefined: all of them passed, so it is alive. Otherwise the name of
 * the first that failed. Rejects when the mutant fits nothing any more, or no test names the rule.
 */
export async function tryMessageMutant(index: number): Promise<string | undefined> {
  const mutant = MESSAGE_MUTANTS[index]
  if (mutant === undefined) throw new Error(`no mutant ${index}`)
  const { name, rule, edit } = mutant
  const source = await readFile(new URL(edit.file, SOURCES), 'utf8')
  mutate(edit.file, source, { name, why: '', edits: [edit], killedBy: 0 })
  const config = fileURLToPath(new URL('mutated.config.ts', import.meta.url))
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-mutant-'))
  try {
    const report = join(folder, 'report.json')
    const output = ['--reporter', 'json', '--outputFile', report]
    const options = ['--config', config, '--root', ROOT, ...output, '-t', `${rule}\\b`]
    const child = spawn('npx', ['vitest', 'run', ...options, ...TESTS], {
      cwd: ROOT,
      env: { ...process.env, TIDEMARK_MESSAGE_MUTANT: String(index) },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: STUCK_MS,
      killSignal: 'SIGKILL',
    })
    const [errors] = await Promise.all([text(child.stderr), once(child, 'exit')])
    if (child.signalCode !== null) return 'the suite, which does not end'
    return firstFailure(rule, await assertions(report, errors))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function firstFailure(rule: string, results: readonly TestResult[]): string | undefined {
  const run = results.filter(({ status }) => status !== 'skipped' && status !== 'pending')
  if (run.length === 0) throw new Error(`no test names ${rule}`)
  return run.find(({ status }) => status === 'failed')?.title
}

interface TestResult {
  readonly title: string
  readonly status: string
}

async function assertions(file: string, errors: string): Promise<readonly TestResult[]> {
  const report = await readFile(file, 'utf8').catch(() => {
    throw new Error(`the suite did not run: ${errors.slice(-2_000)}`)
  })
  const { testResults } = JSON.parse(report) as {
    readonly testResults: readonly { readonly assertionResults: readonly TestResult[] }[]
  }
  return testResults.flatMap(({ assertionResults }) => assertionResults)
}
