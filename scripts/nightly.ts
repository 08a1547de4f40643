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

Runs what takes too long for npm test: every suite on every engine, campaigns with real faults, mutants, models, the documentation,
benches. Prints one line for each part. The output of each part is in a file of its own, in the folder that the first line names.

  --only NAME,NAME  these parts alone
  --long            with the lengths of the nightly workflow
  --seed N          for everything random (default: from today's date)
  --list            prints the names of the parts as a JSON array

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
    if (part === undefined) throw new UsageError(`--only: no part is named ${name}; see --list`)
    return part
  })
}

async function runAll(parts: readonly Part[]): Promise<void> {
  const seed =
    values.seed ?? Number(new Date().toISOString().slice(2, 10).replaceAll('-', '')) * 10_000
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
      const long = values.long ? ' --long' : ''
      console.log(`  again: npm run nightly -- --only ${part.name}${long} --seed ${seed}`)
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
    // The other parts still run.
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
