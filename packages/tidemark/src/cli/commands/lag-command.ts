import { Command } from 'commander'
import { systemClock } from '@tidemark/contracts'
import { ChangeFeedEstimator, type FeedEstimate } from '@tidemark/processor'
import { collectionName, wholeNumber, type CollectionName } from '../arguments/parse-arguments.ts'
import type { CommandContext } from '../command-context.ts'
import { existingCollection } from '../existing-collection.ts'
import { CHECK_EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { InputError } from '../input-error.ts'
import { Interruption } from '../interruption.ts'
import { countLimit, judgeLag, type LagStatus, type LagThresholds } from '../lag/judge-lag.ts'
import { lagLine, lagTable } from '../lag/lag-text.ts'
import { openLeasesOf } from '../lease-location.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { errorLine } from '../output/report-error.ts'

interface LagOptions {
  readonly store: string
  readonly group: string
  readonly leases?: string
  readonly pendingDeletes: boolean
  readonly warn?: number
  readonly critical?: number
  readonly warnAge?: number
  readonly criticalAge?: number
  readonly watch?: boolean
  readonly interval: number
  readonly json?: boolean
}

const HELP = `
The first line is a summary. Then comes one line for each lease: the feed range,
from its lowest key; the host that owns it ("silent": it has not been heard from
for longer than its session lasts); the LSN of the checkpoint, and the newest;
the number of changes left to process ("+" = at least); the age of the oldest of
them; how often the next batch has failed. The command needs no host, and
changes nothing.

Exit codes, as monitoring systems expect them:
  0  ok
  1  warning: --warn changes or more are left, or the oldest is --warn-age
     seconds old or older; without these options, if changes are left and no
     host is there
  2  critical: the same for --critical; or a range has stopped until an operator
     acts
  3  unknown: the group has no leases, something cannot be reached, or the
     arguments are wrong

Examples:
  tidemark lag shop/orders --store ./data --group mirror
  tidemark lag shop/orders --store ./data --group mirror --warn 1000 \\
    --critical 50000
  tidemark lag shop/orders --store ./data --group mirror \\
    --leases redis://localhost --critical-age 300
  tidemark lag shop/orders --store ./data --group mirror --watch --json`

/** A range's changes are counted up to this. */
const MOST_CHANGES = 100_000

/** `tidemark lag`: how far a group is behind, for people and for monitoring systems. */
export function lagCommand(context: CommandContext, finish: Finish): Command {
  return new Command('lag')
    .summary('show how far a group is behind, and warn when it is too far')
    .description('Shows how much of a collection a processor group has still to process.')
    .argument('<collection>', 'database/collection', collectionName)
    .requiredOption('--store <store>', 'folder or postgres:// URL of the store')
    .requiredOption('--group <name>', 'processor group')
    .option(
      '--leases <where>',
      'redis://host:port, or database/collection (default: collections named "leases" of the store)',
    )
    .option(
      '--no-pending-deletes',
      'leave out pending deletes: the hosts of the group do not get them',
    )
    .option('--warn <changes>', 'warning at this number of changes', wholeNumber(1))
    .option('--critical <changes>', 'critical at this number of changes', wholeNumber(1))
    .option('--warn-age <seconds>', 'warning at this age of the oldest change', wholeNumber(1))
    .option('--critical-age <seconds>', 'critical at this age', wholeNumber(1))
    .option('--watch', 'repeat until interrupted, with one line each time')
    .option('--interval <seconds>', 'time between two lines of --watch', wholeNumber(1), 2)
    .option('--json', 'one JSON line each time')
    .addHelpText('after', HELP)
    .action(async (name: CollectionName, options: LagOptions, command: Command) => {
      const wrong = wrongThreshold(options)
      if (wrong !== undefined) command.error(`error: ${wrong}\n`)
      finish(await lag(name, options, context))
    })
}

function wrongThreshold({ warn, critical, warnAge, criticalAge }: LagOptions): string | undefined {
  if (Math.max(warn ?? 0, critical ?? 0) > MOST_CHANGES) {
    return `--warn and --critical must be at most ${MOST_CHANGES}`
  }
  if ((warn ?? 0) > (critical ?? Infinity)) return '--warn must be at most --critical'
  if ((warnAge ?? 0) > (criticalAge ?? Infinity)) return '--warn-age must be at most --critical-age'
  return undefined
}

async function lag(
  name: CollectionName,
  options: LagOptions,
  context: CommandContext,
): Promise<ExitCode> {
  using interruption = new Interruption()
  const { signal } = interruption
  try {
    await using store = await openExistingStore(options.store, { maintenance: 'manual' })
    const feed = await existingCollection(store, name)
    const { group, leases: location, pendingDeletes } = options
    await using leases = await openLeasesOf(group, { leases: location, store })
    if (leases === undefined) throw new InputError(`group ${group} has no leases there`)
    await using estimator = new ChangeFeedEstimator({
      feed,
      leases: leases.store,
      group,
      pendingDeletes,
    })
    const status =
      options.watch === true
        ? await watch(estimator, { options, context, signal })
        : await look(estimator, { options, context, signal })
    return interruption.exitCode ?? CHECK_EXIT[status]
  } catch (error) {
    if (interruption.exitCode !== undefined) return interruption.exitCode
    context.errors.write(`${errorLine(error)}\n`)
    return CHECK_EXIT.unknown
  }
}

interface Look {
  readonly options: LagOptions
  readonly context: CommandContext
  readonly signal: AbortSignal
}

async function look(
  estimator: ChangeFeedEstimator,
  { options, context, signal }: Look,
): Promise<LagStatus> {
  const thresholds = thresholdsOf(options)
  const estimate = await estimator.estimate({ limit: countLimit(thresholds), signal })
  const status = judgeLag(estimate, thresholds)
  if (options.json === true) {
    await writeJsonLine(context.output, { status, ...estimate })
    return status
  }
  await writeText(context.output, `${lagLine(estimate, status, thresholds)}\n${lagTable(estimate)}`)
  return status
}

/** Repeats until it is interrupted or the reader is gone. A failure is reported, and tried again. */
async function watch(
  estimator: ChangeFeedEstimator,
  { options, context, signal }: Look,
): Promise<LagStatus> {
  const thresholds = thresholdsOf(options)
  for (;;) {
    let status: LagStatus = 'unknown'
    let estimate: FeedEstimate | undefined
    let failure: unknown
    try {
      estimate = await estimator.estimate({ limit: countLimit(thresholds), signal })
      status = judgeLag(estimate, thresholds)
    } catch (error) {
      signal.throwIfAborted()
      failure = error
    }
    const atMs = estimate?.atMs ?? systemClock.wallMs()
    const line =
      estimate === undefined
        ? `UNKNOWN: ${errorLine(failure)}`
        : lagLine(estimate, status, thresholds)
    const isRead =
      options.json === true
        ? await writeJsonLine(context.output, { status, atMs, ...(estimate ?? { error: failure }) })
        : await writeText(context.output, `${new Date(atMs).toISOString()} ${line}\n`)
    if (!isRead) return status
    await systemClock.sleep(options.interval * 1000, signal)
  }
}

function thresholdsOf(options: LagOptions): LagThresholds {
  const { warn, critical, warnAge: warnAgeS, criticalAge: criticalAgeS } = options
  return { warn, critical, warnAgeS, criticalAgeS }
}
