import { startPostgresProcess } from '@tidemark/testing/servers'
import { oneOf, positive, whole } from '../../scripts/command-line/read-arguments.ts'
import { runCampaign, type CampaignVerdict } from '../campaign/run-campaign.ts'
import { runOrder, type OrderPhase, type OrderResult } from './run-order.ts'

const SIZES = { writerProcesses: 4, lanesEach: 4, readers: 4 }

await runCampaign({
  name: 'lsn-order',
  usage: `usage: npm run lsn-order -- [--seconds N] [--rounds N] [--seed N] [--feed tidemark|sequence]

16 writers in 4 processes on what begins as one range, 4 readers in processes of their own behind them,
splits and merges meanwhile, on a durable PostgreSQL of its own: first in peace, then while connections are
ended by chance, then while the server is restarted over and over without being shut down.

  --seconds N   of peace, and of ended connections  (default 20)
  --rounds N    restarts                             (default 20)
  --feed NAME   sequence: a naive table instead, in peace only, to see that it loses rows

Exit code 1 if a row was lost, not seen, seen twice or out of order, or if something to be shown never happened.`,
  options: {
    seconds: positive(20),
    rounds: whole(0, 20),
    feed: oneOf(['tidemark', 'sequence'], 'tidemark'),
  },
  async run({ seconds, rounds, feed }, { seed, report }) {
    const calm: OrderPhase = { kind: 'calm', seconds }
    const phases: readonly OrderPhase[] =
      feed === 'sequence'
        ? [calm]
        : [calm, { kind: 'terminate', seconds }, { kind: 'restart', rounds }]
    await using server = await startPostgresProcess({ durable: true })
    const result = await runOrder({ server, feed, phases, seed, sizes: SIZES, report })
    return verdictOf(result, feed === 'sequence' ? [] : happenedIn(result))
  },
})

/** What has to have happened. */
function happenedIn(result: OrderResult): readonly (readonly [what: string, count: number])[] {
  const { terminated, restarts, splits, merges } = result
  return [
    ['splits', splits],
    ['merges', merges],
    ["writers' connections ended", terminated.writers],
    ["readers' connections ended", terminated.readers],
    ['restarts', restarts],
    ['continuations resumed', result.reopened],
    ['acknowledged writes', result.acknowledged],
  ]
}

function verdictOf(
  result: OrderResult,
  happened: readonly (readonly [what: string, count: number])[],
): CampaignVerdict {
  const { lost, unseen, twice, disordered, checkFaults, unknownOutcomes } = result
  const faults = { lost, unseen, twice, 'out of order': disordered, 'index faults': checkFaults }
  return {
    wrong: [
      ...happened
        .filter(([, count]) => count === 0)
        .map(([what]) => `nothing was shown: 0 ${what}`),
      ...Object.entries(faults).flatMap(([what, count]) => (count > 0 ? [`${count} ${what}`] : [])),
    ],
    summary:
      `${unknownOutcomes} unknown outcomes, ${result.rows} rows, ${result.folded} folded, ` +
      [...happened, ...Object.entries(faults)]
        .map(([what, count]) => `${count} ${what}`)
        .join(', '),
  }
}
