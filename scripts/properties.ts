import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readArguments, whole } from './command-line/read-arguments.ts'
import { ROOT } from './repository.ts'

const USAGE = `usage: npm run properties -- [--rounds N] [--seed N] [part of a file's name …]

Runs the tests of properties again and again, each round with other random values, and says which seed failed.

  --rounds N   how many rounds                    (default 10)
  --seed N     of the first                       (default: random, printed)

Exit code 1 when a round failed. SEED=n npm test -- FILE runs it again.`

/** Tests that need a server keep the seed of the gate and of the night. */
const NEEDS_SERVER = /\.(?:redis|postgres)\.(?:nightly\.)?test\.ts$/
const USES_SEED = /\bfc\.assert\(|process\.env\['SEED'\]|Conformance\(/

const { values, positionals } = readArguments(
  USAGE,
  { rounds: whole(1, 10), seed: whole(0, Math.floor(Math.random() * 1_000_000_000)) },
  { positionals: true },
)
const { rounds, seed: first } = values

const files = await propertyTests(positionals)
if (files.length === 0) {
  console.error('no test of properties has such a name')
  process.exit(2)
}
console.log(`${files.length} files, seeds from ${first}`)
let failed = 0
for (let round = 0; round < rounds; round += 1) {
  // Far apart: some tests take the seeds that follow it, too.
  const seed = first + round * 10_007
  const { code, output } = await runTests(seed)
  if (code === 0) continue
  failed += 1
  console.log(`${output}\nfailed with seed ${seed}`)
}
console.log(`${rounds} rounds, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

async function propertyTests(names: readonly string[]): Promise<readonly string[]> {
  const found: string[] = []
  for await (const file of glob('{packages/*/src,tests}/**/*.test.ts', { cwd: ROOT })) {
    if (NEEDS_SERVER.test(file) || !(names.length === 0 || names.some((n) => file.includes(n))))
      continue
    if (USES_SEED.test(await readFile(join(ROOT, file), 'utf8'))) found.push(file)
  }
  return found.sort()
}

async function runTests(seed: number): Promise<{ readonly code: number; readonly output: string }> {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', '--no-color', ...files], {
    cwd: ROOT,
    env: { ...process.env, SEED: String(seed) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const chunks: string[] = []
  child.stdout.setEncoding('utf8').on('data', (text: string) => void chunks.push(text))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code: code ?? 1, output: chunks.join('') }
}
