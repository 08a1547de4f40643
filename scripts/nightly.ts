import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { flag, readArguments, text, UsageError, whole } from './command-line/read-arguments.ts'
import { installBeside } from './install-beside.ts'
import { PARTS, type Part } from './nightly/parts.ts'
import { ROOT } from './repository.ts'

const USAGE = `usage: npm run nightly -- [--only NAME,NAME] [--long] [--seed N] [--list]

Runs what is too long for npm test: the full product of suites and drivers, campaigns with real faults, mutants, models, the
documentation, benches. Prints one line for each part; what a part printed is in a file beside the others, which the first line names.

  --only NAME,NAME  these parts alone
  --long            as long as the workflow of the night does
  --seed N          of what happens by chance  (default: today's date, as 20261129)
  --list            the names of the parts, as one line of JSON

Exit code 1 when a part failed: its line has the command that repeats it alone.`

const { values } = readArguments(
  USAGE,
  { only: text(''), long: flag(), seed: whole(0), list: flag() },
  { check: ({ only }) => void chosenParts(only) },
)

if (values.list) console.log(JSON.stringify(PARTS.map(({ name }) => name)))
else await runAll(chosenParts(values.only))

function chosenParts(only: string): readonly Part[] {
  if (only === '') return PARTS
  return only.split(',').map((name) => {
    const part = PARTS.find((one) => one.name === name)
    if (part === undefined) throw new UsageError(`--only: ${name} is none of --list`)
    return part
  })
}

async function runAll(parts: readonly Part[]): Promise<void> {
  const seed = values.seed ?? Number(new Date().toISOString().slice(0, 10).replaceAll('-', ''))
  const folder = join(tmpdir(), `tidemark-nightly-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  console.log(`${parts.length} parts, seed ${seed}, output in ${folder}`)
  let failed = 0
  for (const part of parts) {
    const start = performance.now()
    const command = commandOf(part, seed)
    const file = join(folder, `${part.name}.log`)
    const { code, last } = await run(part, { command, file })
    const seconds = Math.round((performance.now() - start) / 1_000)
    if (code === 0) console.log(`${part.name}: ok, ${seconds} s: ${last}`)
    else {
      failed++
      console.log(`${part.name}: FAILED with ${code} after ${seconds} s: ${last}`)
      console.log(`  again: npm run ${command}`)
      console.log(`  output: ${file}`)
    }
  }
  console.log(`${parts.length - failed} parts passed, ${failed} failed`)
  if (failed > 0) process.exitCode = 1
}

function commandOf({ command, long, seeded }: Part, seed: number): string {
  const chosen = (values.long ? long : undefined) ?? command
  return seeded === true ? `${chosen} --seed ${seed}` : chosen
}

async function run(
  { beside = [] }: Part,
  { command, file }: { readonly command: string; readonly file: string },
): Promise<{ readonly code: number; readonly last: string }> {
  try {
    for (const folder of beside) await installBeside(folder)
  } catch (error) {
    // The other parts are to run all the same.
    writeFileSync(file, String(error))
    return { code: 1, last: `packages of ${beside.join(', ')} could not be installed` }
  }
  const child = spawn('npm', ['run', '--silent', ...command.split(' ')], {
    cwd: ROOT,
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log = createWriteStream(file)
  let tail = ''
  for (const output of [child.stdout, child.stderr]) {
    output.on('data', (chunk: Buffer) => {
      log.write(chunk)
      tail = (tail + chunk.toString()).slice(-2_000)
    })
  }
  const [code] = (await once(child, 'close')) as [code: number | null]
  log.end()
  await finished(log)
  return { code: code ?? 1, last: tail.trimEnd().split('\n').at(-1) ?? '' }
}
