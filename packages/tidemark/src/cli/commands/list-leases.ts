import { Command } from 'commander'
import {
  commonKeys,
  feedRangeId,
  type FeedRange,
  type Lease,
  type LeaseGroupSnapshot,
  type LeaseStore,
} from '@tidemark/contracts'
import { liveOwner, missingKeys } from '@tidemark/processor/internal'
import type { Collection } from '@tidemark/store'
import type { CommandContext } from '../command-context.ts'
import {
  collectionsByRid,
  followedCollection,
  followedIn,
  type NamedCollection,
} from '../../inspection/followed-collections.ts'
import { withLeaseOptions, type LeaseOptions } from '../group-location.ts'
import { leaseLocations, openLeases } from '../lease-location.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { textTable } from '../output/text-table.ts'

interface ListOptions extends LeaseOptions {
  readonly group?: string
  readonly json?: boolean
}

const HELP = `
Columns: the group and the database/collection that it follows; the feed range,
from its lowest key; the host that owns it now ("-" = none; MISSING = the lease
was deleted, and no host processes its keys until the hosts have recreated all
leases); the epoch, which rises with every owner; the LSN of the checkpoint; how
many transactions it is behind; seconds since its last change or its owner's
last heartbeat. --json also has the ids of ranges.

Examples:
  tidemark leases ls --store ./data
  tidemark leases ls --store ./data --leases redis://localhost --group mirror \\
    --json`

/** `tidemark leases ls`: who owns each range, and how far it has come. */
export function listLeasesCommand(context: CommandContext): Command {
  const command = new Command('ls')
    .summary('list groups, leases, owners and lag')
    .description(
      'Lists the leases of processor groups: who owns each range, and how far it has come.',
    )
  return withLeaseOptions(command)
    .option('--group <name>', 'only this group')
    .option('--json', 'one JSON line for each lease')
    .addHelpText('after', HELP)
    .action((options: ListOptions) => listLeases(options, context))
}

/** One lease as it is printed. */
interface LeaseLine {
  readonly group: string
  readonly paused: boolean
  /** The lease is missing, so no host processes these keys. */
  readonly isMissing: boolean
  readonly collection: string | undefined
  /** The collection is not in the store: it was dropped, perhaps to be created again under its name. */
  readonly isGone: boolean
  readonly range: string
  readonly owner: string | undefined
  /** The host that is to get it. */
  readonly target: string | undefined
  readonly epoch: number
  readonly lsn: number
  readonly lag: number | undefined
  /** How often the next batch has failed. */
  readonly failedTries: number | undefined
  /** Undefined for a missing lease. */
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
  const goneOf = new Map(
    lines.flatMap((line) => (line.isGone ? [[line.group, line.collection]] : [])),
  )
  for (const [group, collection] of goneOf) {
    await writeText(
      context.output,
      `group ${group} follows a collection ${collection} that is not in this store: if it was dropped and created ` +
        `again, "tidemark leases reset --group ${group}" starts the group with the new one\n`,
    )
  }
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

/** Keys of the group without a lease: it was deleted or overwritten. */
async function missingLines({
  group,
  snapshot,
  collections,
}: ReadGroup): Promise<readonly LeaseLine[]> {
  const { leases, paused } = snapshot
  const known = followedCollection(collections, followedIn(snapshot))
  const missing = await missingKeys(group, leases, known?.collection)
  return Promise.all(
    missing.map(async ({ range, lsn }): Promise<LeaseLine> => {
      const newest = known && (await newestLsn(known.collection, range))
      return {
        group,
        paused,
        isMissing: true,
        collection: known?.name ?? snapshot.feed?.name,
        isGone: false,
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
  const { collections, snapshot } = from
  const known = followedCollection(collections, { continuations: [checkpoint.continuation] })
  const newest = known && (await newestLsn(known.collection, range))
  return {
    group: from.group,
    paused: from.snapshot.paused,
    isMissing: false,
    collection: known?.name ?? snapshot.feed?.name,
    isGone: known === undefined && collections.size > 0 && snapshot.feed !== undefined,
    range: lease.id,
    owner: liveOwner(lease, from.snapshot.hosts),
    target,
    epoch,
    lsn: checkpoint.lsn,
    lag: newest === undefined ? undefined : Math.max(0, newest - checkpoint.lsn),
    failedTries: checkpoint.attempts?.count,
    ageS: Math.max(0, Math.round((Date.now() - lease.timestampMs) / 1000)),
  }
}

/** Of the present ranges with its keys: a lease of a range that was split stays until a host reaches the split. */
async function newestLsn(collection: Collection, range: FeedRange): Promise<number> {
  const present = await collection.readFeedRanges()
  const parts = present.flatMap((one) => commonKeys(one, range) ?? [])
  const start = 'now'
  const ends = await Promise.all(
    parts.map((part) => collection.resolveStart({ range: part, start })),
  )
  return Math.max(0, ...ends.map(({ lsn }) => lsn))
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
