import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { startPostgresServer } from '@tidemark/testing/servers'
import {
  flag,
  oneOf,
  readArguments,
  text,
  whole,
} from '../../scripts/command-line/read-arguments.ts'
import type { EngineName, ModelPlace } from './environment.ts'
import type { FoundDifference, RunAnswer, RunTask } from './messages.ts'
import { MessageSequences } from './messaging/message-sequences.ts'
import { parseProgram } from './program.ts'
import { runInProcesses } from './run-in-processes.ts'
import { SequenceRunner } from './run-sequences.ts'

const USAGE = `usage: npm run model -- [--sequences N] [--seed N] [--engine memory|sqlite|postgres] [--messaging]

Runs random sequences of writes, clock steps, splits, merges and maintenance in a store and in a simple
model, and compares all that can be read after every step.

  --sequences N    how many                       (default 10000; on SQLite 500, on PostgreSQL 300)
  --seed N         of what they are               (default: random, printed)
  --engine NAME    memory, sqlite or postgres     (default memory)
  --messaging      queues, topics and sessions instead of documents
  --sequence N     only this one of the seed
  --program FILE   only this program, as a difference is printed
  --steps N        of a sequence, about           (default 45, else 25)
  --without LIST   kinds of steps to leave out, with commas between
  --processes N    that share the work            (default: one a core)

Exit code 1 on a difference.`

const { values } = readArguments(USAGE, {
  sequences: whole(1),
  seed: whole(0, Math.floor(Math.random() * 1_000_000)),
  engine: oneOf(['memory', 'sqlite', 'postgres'], 'memory'),
  messaging: flag(),
  sequence: whole(0),
  program: text(),
  steps: whole(1),
  without: text(''),
  processes: whole(1, availableParallelism()),
})
const { engine, seed, processes, messaging } = values
const SEQUENCES: Readonly<Record<EngineName, number>> = {
  memory: 10_000,
  sqlite: 500,
  postgres: 300,
}
const sequences = values.sequences ?? SEQUENCES[engine]
const maxSteps = values.steps ?? (engine === 'memory' ? 45 : 25)

const without = values.without.split(',').filter((kind) => kind !== '')
const differences: FoundDifference[] = []
let done = 0
console.log(`seed ${seed}, engine ${engine}`)
{
  // What it keeps need not survive: nothing is killed here.
  await using server = engine === 'postgres' ? await startPostgresServer() : undefined
  await run(engine === 'postgres' ? { engine, url: server?.url() ?? '' } : { engine })
}
if (differences.length > 0) process.exitCode = 1
console.log(`${done} sequences, ${differences.length} differences`)

async function run(place: ModelPlace): Promise<void> {
  const task: RunTask = { place, seed, maxSteps, without, messaging }
  if (values.program !== undefined || values.sequence !== undefined) take(await runOne(task))
  else await runInProcesses(task, { sequences, processes, onAnswer: take })
}

async function runOne(task: RunTask): Promise<RunAnswer> {
  if (messaging) return runOneOfMessages(task)
  const runner = new SequenceRunner(task)
  try {
    if (values.program !== undefined) {
      return await runner.runProgram(parseProgram(await readFile(values.program, 'utf8')))
    }
    const { sequence = 0 } = values
    return await runner.run({ from: sequence, until: sequence + 1 })
  } finally {
    await runner.close()
  }
}

async function runOneOfMessages(task: RunTask): Promise<RunAnswer> {
  const runner = new MessageSequences(task)
  const { sequence = 0 } = values
  try {
    return await runner.run({ from: sequence, until: sequence + 1 })
  } finally {
    await runner.close()
  }
}

function take(answer: RunAnswer): void {
  done += answer.sequences
  for (const difference of answer.differences) {
    differences.push(difference)
    print(difference)
  }
}

function print({ sequence, message, program }: FoundDifference): void {
  const options =
    (messaging ? ' --messaging' : '') +
    (without.length > 0 ? ` --without ${without.join(',')}` : '')
  const again =
    values.program === undefined
      ? `npm run model -- --engine ${engine} --seed ${seed} --sequence ${sequence} --steps ${maxSteps}${options}`
      : `npm run model -- --engine ${engine} --program ${values.program}`
  console.error(`difference in sequence ${sequence}: ${message}\n${program}\nagain: ${again}\n`)
}
