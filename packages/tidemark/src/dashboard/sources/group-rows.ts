import type { HostSession, Lease } from '@tidemark/contracts'
import { type FeedEstimate, type LeaseEstimate } from '@tidemark/processor'
import { leaseState, liveOwner } from '@tidemark/processor/internal'
import type {
  GroupRow,
  HostRow,
  HostState,
  HostSummary,
  LeaseRow,
  LeaseState,
  Severity,
} from '../views.ts'
import { hostSummary } from './host-summary.ts'
import type { ReadGroup } from './groups.ts'
import type { MaskedTexts } from './masked-text.ts'

/** What hosts say that take as many leases as there are. */
const NO_MAXIMUM = 2 ** 31 - 1

/** The rows of one group. */
export interface GroupRows {
  readonly row: GroupRow
  readonly leases: readonly LeaseRow[]
  readonly hosts: readonly HostRow[]
}

export interface GroupRowsOptions {
  /** The last measure of the lag. */
  readonly latest: FeedEstimate | undefined
  readonly nowMs: number
  readonly texts: MaskedTexts
}

/** Puts together what the leases, the hosts' heartbeats and the last measure of the lag say. */
export function groupRows(
  { ref, snapshot, summaries: told, followed }: ReadGroup,
  { latest, nowMs, texts }: GroupRowsOptions,
): GroupRows {
  const place = { database: followed?.databaseId, collection: followed?.collection.id }
  const show = (text: string): string => texts.error(text, place)
  const summaries = new Map(told.map((summary) => [summary.host, hostSummary(summary, show)]))
  const halted = new Set([...summaries.values()].flatMap((summary) => summary.halted))
  const measured = new Map(latest?.leases.map((one) => [one.leaseId, one]))
  const present = snapshot.leases.map((lease) =>
    leaseRow(lease, {
      state: stateOf(lease, { snapshot, nowMs }),
      owner: liveOwner(lease, snapshot.hosts) ?? null,
      isHalted: halted.has(lease.id),
      measure: measured.get(lease.id),
    }),
  )
  const missing = (latest?.leases ?? []).filter(({ state }) => state === 'missing')
  const leases = [...present, ...missing.map(missingRow)].sort((one, other) =>
    one.from < other.from ? -1 : 1,
  )
  const hosts = hostRows(snapshot, { summaries, leases })
  const { severity, notes } = judged(leases, { hosts, paused: snapshot.paused })
  const rates = hosts.map(({ summary }) => summary?.changesPerSecond ?? null)
  return {
    leases,
    hosts,
    row: {
      id: `${ref.leases}/${ref.group}`,
      ...ref,
      collection: followed?.name ?? null,
      paused: snapshot.paused,
      severity,
      notes,
      ranges: leases.length,
      hosts: snapshot.hosts.length,
      changes: latest?.remainingChanges ?? null,
      isExact: latest?.isExact ?? false,
      ageMs: latest?.oldestChangeAgeMs ?? null,
      changesPerSecond: rates.every((rate) => rate === null)
        ? null
        : rates.reduce<number>((sum, rate) => sum + (rate ?? 0), 0),
    },
  }
}

function stateOf(
  lease: Lease,
  { snapshot, nowMs }: { readonly snapshot: ReadGroup['snapshot']; readonly nowMs: number },
): LeaseState {
  const { owner, target } = lease
  switch (leaseState(lease, snapshot, nowMs)) {
    case 'owned':
      return snapshot.paused || (target !== undefined && target !== owner?.host)
        ? 'moving'
        : 'owned'
    case 'silent':
      return 'expired'
    case 'paused':
      return 'paused'
    case 'unowned':
      return owner === undefined ? 'free' : 'orphaned'
  }
}

function leaseRow(
  { id, range, epoch, target, checkpoint, timestampMs }: Lease,
  {
    state,
    owner,
    isHalted,
    measure,
  }: {
    readonly state: LeaseState
    readonly owner: string | null
    readonly isHalted: boolean
    readonly measure: LeaseEstimate | undefined
  },
): LeaseRow {
  return {
    id,
    from: range.minInclusive,
    to: range.maxExclusive,
    state,
    halted: isHalted,
    owner,
    target: target ?? null,
    epoch,
    lsn: checkpoint.lsn,
    tries: checkpoint.attempts?.count ?? 0,
    ...lagOf(measure),
    // That of a live owner changes with each of its heartbeats.
    changedMs: owner === null || state === 'expired' ? timestampMs : null,
  }
}

function missingRow(measure: LeaseEstimate): LeaseRow {
  const { leaseId, range, checkpointLsn } = measure
  return {
    id: leaseId,
    from: range.minInclusive,
    to: range.maxExclusive,
    state: 'missing',
    halted: false,
    owner: null,
    target: null,
    epoch: 0,
    lsn: checkpointLsn,
    tries: 0,
    ...lagOf(measure),
    changedMs: null,
  }
}

function lagOf(
  measure: LeaseEstimate | undefined,
): Pick<LeaseRow, 'newestLsn' | 'changes' | 'isExact' | 'ageMs' | 'problem'> {
  return {
    newestLsn: measure?.newestLsn ?? null,
    changes: measure?.remainingChanges ?? null,
    isExact: measure?.isExact ?? false,
    ageMs: measure?.oldestChangeAgeMs ?? null,
    problem: measure?.problem ?? null,
  }
}

function hostRows(
  { hosts, leases: stored }: ReadGroup['snapshot'],
  {
    summaries,
    leases,
  }: {
    readonly summaries: ReadonlyMap<string, HostSummary>
    readonly leases: readonly LeaseRow[]
  },
): readonly HostRow[] {
  const states = new Map(leases.map(({ id, state }) => [id, state]))
  const owned = Map.groupBy(stored, ({ owner }) => owner?.host)
  const heartbeatOf = (host: string): number | null => {
    const times = (owned.get(host) ?? []).map(({ timestampMs }) => timestampMs)
    return times.length === 0 ? null : Math.max(...times)
  }
  const live = hosts.map((session): HostRow => {
    const { host, profile } = session
    const own = leases.filter(({ owner }) => owner === host)
    const isSilent = own.some(({ id }) => states.get(id) === 'expired')
    return {
      id: host,
      state: hostState(session, isSilent),
      ranges: own.length,
      weight: profile.weight,
      minRanges: profile.minLeases,
      maxRanges: profile.maxLeases < NO_MAXIMUM ? profile.maxLeases : null,
      refuses: profile.refuses ?? [],
      heartbeatMs: heartbeatOf(host),
      summary: summaries.get(host) ?? null,
    }
  })
  const known = new Set(hosts.map(({ host }) => host))
  const gone = [...owned.keys()].filter((host) => host !== undefined && !known.has(host))
  const rows = gone.map((host): HostRow => {
    const id = host ?? ''
    const nothing = { weight: 0, minRanges: 0, maxRanges: null, refuses: [], summary: null }
    return { id, state: 'gone', ranges: 0, ...nothing, heartbeatMs: heartbeatOf(id) }
  })
  return [...live, ...rows].sort((one, other) => (one.id < other.id ? -1 : 1))
}

function hostState({ profile }: HostSession, isSilent: boolean): HostState {
  if (isSilent) return 'silent'
  if (profile.leaving) return 'leaving'
  return profile.standby === true ? 'standby' : 'live'
}

function judged(
  leases: readonly LeaseRow[],
  { hosts, paused }: { readonly hosts: readonly HostRow[]; readonly paused: boolean },
): { readonly severity: Severity; readonly notes: readonly string[] } {
  const count = (of: (lease: LeaseRow) => boolean): number => leases.filter(of).length
  const isMissing = ({ state }: LeaseRow): boolean => state === 'missing'
  const stopped: readonly (readonly [number, string])[] = [
    [count(({ halted }) => halted), 'halted'],
    [count(isMissing), 'missing'],
    [count((lease) => lease.problem !== null && !isMissing(lease)), 'with a problem'],
  ]
  const doubtful: readonly (readonly [number, string])[] = [
    [count(({ state }) => state === 'orphaned'), 'orphaned'],
    [count(({ state }) => state === 'expired'), 'expired'],
    [count(({ state }) => state === 'free'), 'without an owner'],
    [count(({ tries }) => tries > 0), 'tried again'],
  ]
  const noted = [...stopped, ...doubtful].filter(([ranges]) => ranges > 0)
  const silent = hosts.filter(({ state }) => state === 'silent').length
  const notes = [
    ...(paused ? ['paused'] : []),
    ...noted.map(([ranges, what]) => `${ranges} ${ranges === 1 ? 'range' : 'ranges'} ${what}`),
    ...(silent > 0 ? [`${silent} ${silent === 1 ? 'host' : 'hosts'} silent`] : []),
  ]
  const isStopped = stopped.some(([ranges]) => ranges > 0)
  return { severity: isStopped ? 2 : notes.length > 0 ? 1 : 0, notes }
}
