import { setTimeout as sleep } from 'node:timers/promises'
import { machineMs } from '../measuring/stopwatch.ts'
import { Fleet, type LeaseStores } from './fleet.ts'
import { SyntheticFeed } from './synthetic-feed.ts'

/** One line of output. */
export interface BalanceLine {
  readonly scenario:
    | 'cold-start'
    | 'one-to-two'
    | 'join'
    | 'graceful-leave'
    | 'kill'
    | 'rolling-restart'
    | 'idle'
  readonly leases: number
  readonly hosts: number
  readonly ms: number
  readonly moves: number
  readonly duplicates: number
  readonly commandsPerSecond: number
}

export interface BalanceOptions {
  readonly hosts: number
  readonly leases: number
  /** Leases of `one-to-two`, which has its own number in the project's goals. */
  readonly leasesOfTwo: number
  readonly idleSeconds: number
  readonly stores: LeaseStores
  /** Counts what the lease store's server is asked, for `idle`; undefined where calls are the measure. */
  readonly countCommands?: ((durationMs: number) => Promise<number>) | undefined
}

type Report = (line: BalanceLine) => void

const ROLLING_HOSTS = 4
const ROLLING_LEASES = 64
const ROLLING_CHANGES_PER_SECOND = 500
/** Time in which changes go on between two restarts. */
const ROLLING_PAUSE_MS = 400

/** All scenarios in turn; throws when one never ends, or when a change was lost. */
export async function runBalance(options: BalanceOptions, report: Report): Promise<void> {
  await runFleet(options, report)
  await oneToTwo(options, report)
  await rollingRestart(options, report)
}

/** cold-start, idle, join, graceful-leave and kill of one fleet. */
async function runFleet(options: BalanceOptions, report: Report): Promise<void> {
  const { hosts, leases, stores } = options
  await using fleet = new Fleet({ group: 'fleet', feed: new SyntheticFeed(leases), stores })
  const names = Array.from({ length: hosts }, (_, index) => `host-${index + 1}`)
  const starts: (() => Promise<void>)[] = []
  for (const name of names) starts.push(await fleet.add(name))

  const line = phase(fleet)
  await Promise.all(starts.map((start) => start()))
  await fleet.untilBalanced()
  const cold = line('cold-start')
  // The first opening of a lease is no move.
  report({ ...cold, moves: cold.moves - leases })

  await quiet(fleet)
  report(await idle(fleet, options))

  const join = phase(fleet)
  await fleet.start('host-joined')
  await fleet.untilBalanced()
  report(join('join'))

  await quiet(fleet)
  const leave = phase(fleet)
  await fleet.stop('host-joined')
  await fleet.untilBalanced()
  report(leave('graceful-leave'))

  await quiet(fleet)
  report(await kill(fleet))
}

async function idle(
  fleet: Fleet,
  { idleSeconds, countCommands }: BalanceOptions,
): Promise<BalanceLine> {
  const line = phase(fleet)
  if (countCommands === undefined) {
    await sleep(idleSeconds * 1000)
    return line('idle')
  }
  const commands = await countCommands(idleSeconds * 1000)
  return { ...line('idle'), commandsPerSecond: Number((commands / idleSeconds).toFixed(2)) }
}

/** Writes one change into every range of a host at the moment it dies: `ms` until the last one was processed. */
async function kill(fleet: Fleet): Promise<BalanceLine> {
  const [victim] = fleet.hosts
  if (victim === undefined) throw new Error('there is no host to kill')
  const line = phase(fleet)
  const orphans = fleet.kill(victim).map((lease) => {
    fleet.feed.append(lease)
    return { lease, lsn: fleet.feed.lastLsn(lease) }
  })
  await fleet.ownership.until(
    () =>
      orphans.every(({ lease, lsn }) => fleet.ownership.firstDelivery(lease, lsn) !== undefined),
    { what: `the ${orphans.length} ranges of a killed host processed again`, timeoutMs: 60_000 },
  )
  const killed = line('kill')
  return { ...killed, hosts: killed.hosts + 1 }
}

async function oneToTwo({ leasesOfTwo, stores }: BalanceOptions, report: Report): Promise<void> {
  await using fleet = new Fleet({ group: 'two', feed: new SyntheticFeed(leasesOfTwo), stores })
  await fleet.start('host-1')
  await fleet.untilBalanced()
  await quiet(fleet)
  const start = await fleet.add('host-2')
  const line = phase(fleet)
  await start()
  await fleet.untilBalanced()
  report(line('one-to-two'))
}

/** Replaces every host in turn while changes go on; each must come exactly once. */
async function rollingRestart({ stores }: BalanceOptions, report: Report): Promise<void> {
  const feed = new SyntheticFeed(ROLLING_LEASES)
  await using fleet = new Fleet({ group: 'rolling', feed, stores })
  const names = Array.from({ length: ROLLING_HOSTS }, (_, index) => `host-${index + 1}`)
  await Promise.all(names.map((name) => fleet.start(name)))
  await fleet.untilBalanced()
  const line = phase(fleet)
  const stopWriting = new AbortController()
  const writing = writePaced(feed, stopWriting.signal)
  for (const name of names) {
    await fleet.stop(name)
    await fleet.start(`${name}-new`)
    await fleet.untilBalanced()
    await sleep(ROLLING_PAUSE_MS)
  }
  stopWriting.abort()
  await writing
  await fleet.ownership.until(
    () =>
      feed.rangeIds.every((lease) => {
        const last = feed.lastLsn(lease)
        return last === 0 || fleet.ownership.firstDelivery(lease, last) !== undefined
      }),
    { what: 'every change of the rolling restart delivered', timeoutMs: 30_000 },
  )
  const lost = feed.rangeIds.reduce(
    (sum, lease) => sum + fleet.ownership.missing(lease, feed.lastLsn(lease)),
    0,
  )
  if (lost > 0) throw new Error(`${lost} changes were never delivered in the rolling restart`)
  report(line('rolling-restart'))
}

/** Appends to the ranges in turn, at a fixed pace. */
async function writePaced(feed: SyntheticFeed, signal: AbortSignal): Promise<void> {
  const started = machineMs()
  for (let written = 0; !signal.aborted;) {
    const due = ((machineMs() - started) / 1000) * ROLLING_CHANGES_PER_SECOND
    for (; written < due; written++) feed.append(feed.rangeIds[written % feed.rangeIds.length]!)
    await sleep(2)
  }
}

/** Begins to measure; the returned function ends it. */
function phase(fleet: Fleet): (scenario: BalanceLine['scenario']) => BalanceLine {
  const started = machineMs()
  const { opens, duplicates } = fleet.ownership
  const { calls } = fleet
  return (scenario) => {
    const ms = machineMs() - started
    return {
      scenario,
      leases: fleet.feed.rangeIds.length,
      hosts: fleet.hosts.length,
      ms: Math.round(ms),
      moves: fleet.ownership.opens - opens,
      duplicates: fleet.ownership.duplicates - duplicates,
      commandsPerSecond: Number((((fleet.calls - calls) / ms) * 1000).toFixed(2)),
    }
  }
}

/** Lets what a phase set in motion come to rest, so that it does not count in the next one. */
async function quiet(fleet: Fleet): Promise<void> {
  for (let calls = -1; calls !== fleet.ownership.opens;) {
    calls = fleet.ownership.opens
    await sleep(1_500)
  }
}
