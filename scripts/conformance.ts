import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ensureEmbeddedPostgres } from '@tidemark/testing/servers'
import { oneOf, readArguments, text, UsageError } from './command-line/read-arguments.ts'
import { ROOT } from './repository.ts'

// `npm run conformance -- --engine NAME`: what every engine must do, on one of them, and `N passed, N failed`;
// `--postgres VERSION`: the same on a PostgreSQL from npm, and its fail-over.

/** The suites of the engine contract and of collections, and the programs that the model test once found. */
const SUITES: Readonly<Record<string, readonly string[]>> = {
  memory: [
    'packages/engine-sqlite/src/memory-engine.test.ts',
    'packages/engine-sqlite/src/collection-in-memory.test.ts',
    'tests/model/programs.test.ts',
  ],
  sqlite: [
    'packages/engine-sqlite/src/sqlite-engine.nightly.test.ts',
    'packages/engine-sqlite/src/collection-on-sqlite.nightly.test.ts',
    'tests/model/programs.nightly.test.ts',
  ],
  postgres: [
    'packages/engine-postgres/src/postgres-engine.postgres.nightly.test.ts',
    'packages/engine-postgres/src/collection-on-postgres.postgres.nightly.test.ts',
    'tests/model/programs.nightly.test.ts',
  ],
}
const OTHER_POSTGRES = [
  ...(SUITES['postgres'] ?? []),
  'packages/engine-postgres/src/fail-over.postgres.nightly.test.ts',
]

const { values } = readArguments(
  `usage: npm run conformance -- --engine ${Object.keys(SUITES).join('|')}, or --postgres VERSION`,
  { engine: oneOf(Object.keys(SUITES)), postgres: text() },
  {
    check({ engine, postgres }) {
      if (engine === undefined && postgres === undefined)
        throw new UsageError('--engine is missing')
    },
  },
)
const suites = values.postgres === undefined ? (SUITES[values.engine ?? ''] ?? []) : OTHER_POSTGRES
if (values.postgres !== undefined) {
  const version = values.postgres
  process.env['POSTGRES_BIN'] = await ensureEmbeddedPostgres({ version, onProgress: console.log })
}
// A file that is not there would be no failure to the test runner.
const missing = suites.filter((file) => !existsSync(join(ROOT, file)))
if (missing.length > 0) {
  for (const file of missing) console.error(`${file} does not exist`)
  console.log(`0 passed, ${missing.length} failed`)
  process.exit(1)
}
process.exitCode = await runTests(suites)

async function runTests(files: readonly string[]): Promise<number> {
  const script = join(ROOT, 'scripts', 'test.ts')
  const child = spawn(process.execPath, ['--conditions=@tidemark/source', script, ...files], {
    stdio: 'inherit',
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 1
}
