import { startPostgresProcess } from '@tidemark/testing/servers'
import { oneOf, positive, readArguments, whole } from '../../scripts/command-line/read-arguments.ts'
import { runOrder, type OrderPhase, type OrderResult } from './run-order.ts'

const USAGE = `usage: npm run lsn-order -- [--seconds N] [--rounds N] [--seed N] [--feed tidemark|sequence]

16 writers in 4 processes on what begins as one range, 4 readers in processes of their own behind them,
splits and merges meanwhile, on a durable PostgreSQL of its own: first in peace, then while connections are
ended by chance, then while the server is restarted over and over without being shut down.

  --seconds N   of peace, and of ended connections  (default 20)
  --rounds N    restarts                             (default 20)
  --seed N      of what is written                   (default: random, printed)
  --feed NAME   sequence: a naive table instead, in peace only, to see that it loses rows

Exit code 1 if a row was lost, not seen, seen twice or out of order, or if something to be shown never happened.`

const { values } = readArguments(USAGE, {
  seconds: positive(20),
  rounds: whole(0, 20),
  seed: whole(0, Math.floor(Math.random() * 1_000_000)),
  feed: oneOf(['tidemark', 'sequence'], 'tidemark'),
})
const { seconds, rounds, seed, feed } = values

const calm: OrderPhase = { kind: 'calm', seconds }
const phases: readonly OrderPhase[] =
  feed === 'sequence' ? [calm] : [calm, { kind: 'terminate', seconds }, { kind: 'restart', rounds }]
const sizes = { writerProcesses: 4, lanesEach: 4, readers: 4 }
console.log(`seed ${seed}, feed ${feed}, 16 writers in 4 processes, 4 readers`)
try {
  await using server = await startPostgresProcess({ durable: true })
  finish(await runOrder({ server, feed, phases, seed, sizes, report: console.log }))
} catch (error) {
  console.error(error)
  process.exitCode = 1
}

function finish(result: OrderResult): void {
  const { terminated, restarts, splits, merges, folded, reopened, unknownOutcomes } = result
  const happened: readonly (readonly [what: string, count: number])[] = [
    ['acknowledged writes', result.acknowledged],
    ['unknown outcomes', unknownOutcomes],
    ['rows', result.rows],
    ['splits', splits],
    ['merges', merges],
    ['rows folded', folded],
    ['continuations resumed at least by each reader', reopened],
    ["writers' connections ended", terminated.writers],
    ["readers' connections ended", terminated.readers],
    ['restarts', restarts],
  ]
  console.log(happened.map(([what, count]) => `${count} ${what}`).join(', '))
  const { lost, unseen, twice, disordered, checkFaults } = result
  const isShown =
    feed === 'sequence' ||
    (splits > 0 &&
      merges > 0 &&
      restarts === rounds &&
      terminated.writers > 0 &&
      terminated.readers > 0)
  if (!isShown) console.error('nothing was shown: something of the above never happened')
  if (!isShown || lost + unseen + twice + disordered + checkFaults > 0) process.exitCode = 1
  console.log(
    `${lost} lost, ${unseen} unseen, ${twice} twice, ${disordered} out of order, ${checkFaults} index faults`,
  )
}
