import { Command } from 'commander'
import { decodeContinuation, type Lease, type LeaseGroupSnapshot } from '@tidemark/contracts'
import type { LeaseStore } from '@tidemark/contracts'
import type { Collection, Store } from '@tidemark/store'
import type { CommandContext } from '../command-context.ts'
import { openLeases } from '../lease-location.ts'
import { leaseLocations } from '../lease-locations.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { textTable } from '../output/text-table.ts'
import { openExistingStore } from '../open-existing-store.ts'

interface ListOptions {
  readonly store?: string
  readonly leases?: string
  readonly group?: string
  readonly json?: boolean
}

const HELP = `
Columns: the group and the database/collection that it follows; the feed range, from its lowest
key on; the host that owns it now ("-" = none); the epoch, which rises with every owner; the LSN
up to which it is processed; how many transactions it is behind; seconds since its last change
or its owner's last heartbeat.

Examples:
  tidemark leases ls --store ./data
  tidemark leases ls --store ./data --leases redis://localhost --group mirror --json`

/** `tidemark leases ls`: who works on what, and how far. */
export function leasesCommand(context: CommandContext): Command {
  const list = new Command('ls')
    .summary('list groups, leases, owners and lag')
    .description('Lists the leases of processor groups: who owns which range, and how far it is.')
    .option('--store <store>', 'folder or postgres:// URL; without it the lag is not known')
    .option(
      '--leases <where>',
      'redis://host:port, or database/collection (default: collections named "leases" of the store)',
    )
    .option('--group <name>', 'only this group')
    .option('--json', 'one JSON line a lease')
    .addHelpText('after', HELP)
    .action(async (options: ListOptions, command: Command) => {
      if (options.store === undefined && options.leases === undefined) {
        command.error('error: give --store or --leases\n')
      }
      await listLeases(options, context)
    })
  return new Command('leases').description('Look at leases.').addCommand(list)
}

/** One lease as it is printed. */
interface LeaseLine {
  readonly group: string
  readonly collection: string | undefined
  readonly range: string
  readonly owner: string | undefined
  readonly epoch: number
  readonly lsn: number
  readonly lag: number | undefined
  readonly ageS: number
}

async function listLeases(options: ListOptions, context: CommandContext): Promise<void> {
  await using store =
    options.store === undefined
      ? undefined
      : await openExistingStore(options.store, { maintenance: 'manual' })
  const collections = store === undefined ? new Map() : await collectionsByRid(store)
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
}

async function groupsOf(leases: LeaseStore, only: string | undefined): Promise<readonly string[]> {
  const groups = await leases.listGroups()
  return only === undefined ? groups : groups.filter((group) => group === only)
}

interface NamedCollection {
  readonly name: string
  readonly collection: Collection
}

/** A lease's continuation names the collection that it is of by `_rid`. */
async function collectionsByRid(store: Store): Promise<ReadonlyMap<string, NamedCollection>> {
  const found = new Map<string, NamedCollection>()
  for (const { id: databaseId } of await store.listDatabases()) {
    const database = store.database(databaseId)
    for (const { id, rid } of await database.listCollections()) {
      found.set(rid, { name: `${databaseId}/${id}`, collection: database.collection(id) })
    }
  }
  return found
}

async function readGroup(
  leases: LeaseStore,
  group: string,
  collections: ReadonlyMap<string, NamedCollection>,
): Promise<readonly LeaseLine[]> {
  const opened = await leases.openGroup(group)
  try {
    const snapshot = await opened.read()
    return await Promise.all(
      snapshot.leases.map((lease) => leaseLine(lease, { group, snapshot, collections })),
    )
  } finally {
    await opened.close()
  }
}

async function leaseLine(
  lease: Lease,
  from: {
    group: string
    snapshot: LeaseGroupSnapshot
    collections: ReadonlyMap<string, NamedCollection>
  },
): Promise<LeaseLine> {
  const { owner, checkpoint, range, epoch } = lease
  const { collectionRid } = decodeContinuation(checkpoint.continuation)
  const known = from.collections.get(collectionRid)
  const newest = await known?.collection.resolveStart({ range, start: { kind: 'now' } })
  const session = from.snapshot.hosts.find(({ host }) => host === owner?.host)
  return {
    group: from.group,
    collection: known?.name,
    range: lease.id,
    owner: session?.incarnation === owner?.incarnation ? owner?.host : undefined,
    epoch,
    lsn: checkpoint.lsn,
    lag: newest && Math.max(0, newest.lsn - checkpoint.lsn),
    ageS: Math.max(0, Math.round((Date.now() - lease.timestampMs) / 1000)),
  }
}

function leaseTable(lines: readonly LeaseLine[]): string {
  const headings = ['GROUP', 'COLLECTION', 'FROM', 'OWNER', 'EPOCH', 'LSN', 'LAG', 'AGE s']
  return textTable(
    headings,
    lines.map(({ group, collection, range, owner, epoch, lsn, lag, ageS }) => [
      group,
      collection ?? '-',
      range.slice(0, range.indexOf('-')).slice(0, 8) || '0',
      owner ?? '-',
      epoch,
      lsn,
      lag ?? '-',
      ageS,
    ]),
  )
}
