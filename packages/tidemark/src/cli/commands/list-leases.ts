import { Command } from 'commander'
import {
  commonKeys,
  feedRangeId,
  type FeedRange,
  type Lease,
  type LeaseGroupSnapshot,
  type LeaseStore,
} from '@tidemark/contracts'
import { missingKeys } from '@tidemark/processor'
import type { Collection } from '@tidemark/store'
import type { CommandContext } from '../command-context.ts'
import {
  collectionsByRid,
  followedCollection,
  type NamedCollection,
} from '../followed-collections.ts'
import { withLeaseOptions, type LeaseOptions } from '../group-location.ts'
import { openLeases } from '../lease-location.ts'
import { leaseLocations } from '../lease-locations.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { textTable } from '../output/text-table.ts'

interface ListOptions extends LeaseOptions {
  readonly group?: string
  readonly json?: boolean
}

const HELP = `
Columns: the group and the database/collection that it follows; the feed range,
from its lowest key on; the host that owns it now ("-" = none; MISSING =
somebody deleted the lease, and nobody works on its keys until the hosts have
made all leases anew); the epoch, which rises with every owner; the LSN up to
which it is processed; how many transactions it is behind; seconds since its
last change or its owner's last heartbeat. --json has the ids of ranges, too.

Examples:
  tidemark leases ls --store ./data
  tidemark leases ls --store ./data --leases redis://localhost --group mirror \\
    --json`

/** `tidemark leases ls`: who works on what, and how far. */
export function listLeasesCommand(context: CommandContext): Command {
  const command = new Command('ls')
    .summary('list groups, leases, owners and lag')
    .description('Lists the leases of processor groups: who owns which range, and how far it is.')
  return withLeaseOptions(command)
    .option('--group <name>', 'only this group')
    .option('--json', 'one JSON line a lease')
    .addHelpText('after', HELP)
    .action((options: ListOptions) => listLeases(options, context))
}

/** One lease as it is printed. */
interface LeaseLine {
  readonly group: string
  readonly paused: boolean
  /** There is no such lease, and so nobody works on these keys of the group. */
  readonly isMissing: boolean
  readonly collection: string | undefined
  readonly range: string
  readonly owner: string | undefined
  /** The host that is to have it. */
  readonly target: string | undefined
  readonly epoch: number
  readonly lsn: number
  readonly lag: number | undefined
  /** Tries of what comes next that failed. */
  readonly failedTries: number | undefined
  /** Undefined of a lease that is missing. */
  readonly ageS: number | undefined
}

async function listLeases(options: ListOptions, context: CommandContext): Promise<void> {
  await using store =
    options.store === undefined
      ? undefined
      : await openExistingStore(options.store, { maintenance: 'manual' })
  const collections =
    store === undefined ? new Map<string, NamedCollection>() : await collectionsByRid(store)
  const lines: LeaseLine[] = []
  for (const location of await leaseLocations(options.leases, store)) {
    await using leases = await openLeases(location, { store, missing: 'fail' })
    for (const group of await groupsOf(leases.store, options.group)) {
      lines.push(...(await readGroup(leases.store, group, collections)))
    }
  }
  if (options.json === true) {
    for (const line of lines) await writeJsonLine(context.output, line)
    return
  }
  await writeText(context.output, lines.length === 0 ? 'no leases\n' : leaseTable(lines))
  const pausedGroups = new Set(lines.filter(({ paused }) => paused).map(({ group }) => group))
  for (const group of pausedGroups) await writeText(context.output, `group ${group} is paused\n`)
}

async function groupsOf(leases: LeaseStore, only: string | undefined): Promise<readonly string[]> {
  const groups = await leases.listGroups()
  return only === undefined ? groups : groups.filter((group) => group === only)
}

async function readGroup(
  leases: LeaseStore,
  group: string,
  collections: ReadonlyMap<string, NamedCollection>,
): Promise<readonly LeaseLine[]> {
  const opened = await leases.openGroup(group)
  try {
    const snapshot = await opened.read()
    const from = { group, snapshot, collections }
    const lines = await Promise.all(snapshot.leases.map((lease) => leaseLine(lease, from)))
    return [...lines, ...(await missingLines(from))]
  } finally {
    await opened.close()
  }
}

interface ReadGroup {
  readonly group: string
  readonly snapshot: LeaseGroupSnapshot
  readonly collections: ReadonlyMap<string, NamedCollection>
}

/** Keys of the group that no lease has: somebody deleted it, or wrote something else over it. */
async function missingLines({
  group,
  snapshot,
  collections,
}: ReadGroup): Promise<readonly LeaseLine[]> {
  const { leases, paused } = snapshot
  const continuations = leases.map(({ checkpoint }) => checkpoint.continuation)
  const known = followedCollection(collections, continuations)
  const missing = await missingKeys(group, leases, known?.collection)
  return Promise.all(
    missing.map(async ({ range, lsn }): Promise<LeaseLine> => {
      const newest = known && (await newestLsn(known.collection, range))
      return {
        group,
        paused,
        isMissing: true,
        collection: known?.name,
        range: feedRangeId(range),
        owner: undefined,
        target: undefined,
        epoch: 0,
        lsn,
        lag: newest === undefined ? undefined : Math.max(0, newest - lsn),
        failedTries: undefined,
        ageS: undefined,
      }
    }),
  )
}

async function leaseLine(lease: Lease, from: ReadGroup): Promise<LeaseLine> {
  const { checkpoint, range, epoch, target } = lease
  const known = followedCollection(from.collections, [checkpoint.continuation])
  const newest = known && (await newestLsn(known.collection, range))
  return {
    group: from.group,
    paused: from.snapshot.paused,
    isMissing: false,
    collection: known?.name,
    range: lease.id,
    owner: liveOwner(lease, from.snapshot),
    target,
    epoch,
    lsn: checkpoint.lsn,
    lag: newest === undefined ? undefined : Math.max(0, newest - checkpoint.lsn),
    failedTries: checkpoint.attempts?.count,
    ageS: Math.max(0, Math.round((Date.now() - lease.timestampMs) / 1000)),
  }
}

/** Of the present ranges that have its keys: a lease of a range that was split stays until a host meets the split. */
async function newestLsn(collection: Collection, range: FeedRange): Promise<number> {
  const present = await collection.readFeedRanges()
  const parts = present.flatMap((one) => commonKeys(one, range) ?? [])
  const start = 'now'
  const ends = await Promise.all(
    parts.map((part) => collection.resolveStart({ range: part, start })),
  )
  return Math.max(0, ...ends.map(({ lsn }) => lsn))
}

/** The host that owns the lease, if its session is still there. */
function liveOwner({ owner }: Lease, { hosts }: LeaseGroupSnapshot): string | undefined {
  const session = hosts.find(({ host }) => host === owner?.host)
  return session?.incarnation === owner?.incarnation ? owner?.host : undefined
}

function leaseTable(lines: readonly LeaseLine[]): string {
  const headings = ['GROUP', 'COLLECTION', 'FROM', 'OWNER', 'EPOCH', 'LSN', 'LAG', 'AGE s']
  return textTable(
    headings,
    lines.map(({ group, isMissing, collection, range, owner, epoch, lsn, lag, ageS }) => [
      group,
      collection ?? '-',
      range.slice(0, range.indexOf('-')) || '0',
      isMissing ? 'MISSING' : (owner ?? '-'),
      epoch,
      lsn,
      lag ?? '-',
      ageS ?? '-',
    ]),
  )
}
