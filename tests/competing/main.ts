import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgresServer } from '@tidemark/testing/servers'
import { oneOf, readArguments, whole } from '../../scripts/command-line/read-arguments.ts'
import { runCompeting } from './run-competing.ts'

const USAGE = `usage: npm run competing -- [--messages N] [--processes N] [--engine NAME] [--seed N]

Processes compete for messages of a queue, and of one with sessions. They abandon messages or let locks end, and
meanwhile they are killed and replaced, or stopped for longer than their locks last. Ends when all messages are gone.

  --messages N    how many                 (default 100000)
  --processes N   how many compete         (default 8)
  --engine NAME   sqlite or postgres       (default sqlite)
  --seed N        of what happens          (default: random, printed)

Exit code 1 if a message was lost, completed twice or under two locks at once, if a delivery count is wrong, or if a
session's order was broken.`

const { values } = readArguments(USAGE, {
  messages: whole(1, 100_000),
  processes: whole(1, 8),
  engine: oneOf(['sqlite', 'postgres'], 'sqlite'),
  seed: whole(0, Math.floor(Math.random() * 1_000_000)),
})

const folder = await mkdtemp(join(tmpdir(), 'tidemark-competing-'))
try {
  console.log(`seed ${values.seed}, engine ${values.engine}`)
  await using server = values.engine === 'postgres' ? await startPostgresServer() : undefined
  const place =
    server === undefined
      ? ({ kind: 'folder', folder: join(folder, 'store'), durability: 'sync' } as const)
      : ({ kind: 'postgres', url: await server.createDatabase() } as const)
  const result = await runCompeting({ ...values, folder, place, report: console.error })
  const { faults, counts, kills, stops, seconds } = result
  if (faults.length > 0) process.exitCode = 1
  console.log(
    `${counts.completed} completions acknowledged in ${seconds} s, ${counts.redelivered} messages redelivered, ` +
      `${counts.abandoned} abandoned, ${counts.lost} settled too late, ${kills} kills, ${stops} stops`,
  )
  console.log(`${values.messages} messages, ${values.processes} processes, ${faults.length} faults`)
} finally {
  await rm(folder, { recursive: true, force: true })
}
