import {
  checkedStart,
  commonKeys,
  feedRangeId,
  InvalidOptionError,
  LeaseStorageError,
  rangesOverlap,
  systemClock,
  type ChangeFeedSource,
  type Clock,
  type FeedMode,
  type FeedPosition,
  type FeedRange,
  type LeaseStore,
  type Lsn,
  type StartPosition,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionOf,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { ProcessorGroup, type MovedLease, type PositionsSnapshot } from '@tidemark/processor'
import { positionsSnapshot } from '@tidemark/processor/internal'
import type { MonitoredContainer } from './monitored-container.ts'
import type { V3Lease } from './v3-lease.ts'
import type { V3Reader } from './v3-prefix.ts'
import {
  V3Processor,
  v3ProcessorRules,
  v3ReaderRule,
  type V3ProcessorOptions,
} from './v3-processor.ts'

export interface ImportV3LeasesOptions extends V3ProcessorOptions {
  /** Where the group's hosts will keep their leases: any lease store. */
  readonly leases: LeaseStore
  /** The group. It must have no leases yet. */
  readonly group: string
  /** The feed that the group's hosts will read, of the monitored container. */
  readonly feed: ChangeFeedSource
  /** Whose leases are read. @default whose there are; ERR_INVALID_OPTION when there are several */
  readonly reader?: V3Reader | undefined
  /**
   * Where keys start whose lease has no position: a V3 processor has stored none where nothing was changed since it started, and
   * starts there again where its start options say. The time or the beginning of those options is right here, too.
   * @default ERR_INVALID_OPTION if there are such leases
   */
  readonly startWithout?: StartPosition | undefined
  /** `preview`: what would be done is returned, and nothing is done. @default 'import' */
  readonly purpose?: 'import' | 'preview' | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  readonly signal?: AbortSignal | undefined
}

const RULES: OptionRules<ImportV3LeasesOptions> = {
  ...v3ProcessorRules,
  leases: requiredOption(option.leases),
  group: requiredOption(option.text),
  feed: requiredOption(option.feed),
  reader: v3ReaderRule,
  startWithout: option.anything,
  purpose: optionOf('import', 'preview'),
  clock: option.clock,
  signal: option.signal,
}

const READERS: readonly V3Reader[] = ['dotnet', 'java', 'javaHandleChanges']

/**
 * Creates a group's leases at the positions of a stopped processor of the .NET or Java SDK: no change is missed, and none that
 * the processor has stored is repeated. Its own leases stay as they are. Returns what the group has now, in EPK order.
 *
 * Rejects with
 * - ERR_LEASES_IN_USE while the processor's hosts are alive
 * - ERR_INVALID_OPTION when it has no leases there, or not for every key; when the group has leases; when a lease has no
 *   position and `startWithout` is missing
 * - ERR_LEASE_STORAGE when leases overlap, as after a split that the processor has not finished, or are of no known form
 */
export async function importV3Leases(
  options: ImportV3LeasesOptions,
): Promise<readonly MovedLease[]> {
  checkOptions(options, RULES)
  const { leases, group: name, feed, purpose = 'import', clock = systemClock, signal } = options
  const processor = await V3Processor.open(options, { signal })
  const found = await findLeases(processor, options)
  const mode = modeOf(found)
  const replacing: LeaseStore = {
    description: leases.description,
    openGroup: (group, given) => leases.openGroup(group, { ...given, replacesV3: true }),
    listGroups: (given) => leases.listGroups(given),
  }
  await using group = new ProcessorGroup({ leases: replacing, group: name, feed, mode, clock })
  const { leases: own } = await group.status({ signal })
  if (own.length > 0) {
    throw new InvalidOptionError(
      `group ${JSON.stringify(name)} has leases already (${own.length}), and they stay as they are; import into a new group`,
    )
  }
  const snapshot = await snapshotOf(found, { processor, options, mode, clock })
  return purpose === 'preview'
    ? await group.previewRestore(snapshot, { signal })
    : await group.restore(snapshot, { signal })
}

/** The leases of the one processor that is there, stopped. */
async function findLeases(
  processor: V3Processor,
  { reader, signal }: ImportV3LeasesOptions,
): Promise<readonly V3Lease[]> {
  const readers = reader === undefined ? READERS : [reader]
  // .NET and the newer Java processor have the same prefix, and their leases say whose they are.
  const byPrefix = new Map(readers.map((each) => [processor.prefix(each), each]))
  const sets: { readonly reader: V3Reader; readonly leases: readonly V3Lease[] }[] = []
  for (const each of byPrefix.values()) {
    const { leases } = await processor.readStopped(each, { signal })
    if (leases.length > 0) sets.push({ reader: each, leases })
  }
  const [first, second] = sets
  if (first === undefined) throw await processor.nothingFound(readers, { signal })
  if (second !== undefined) {
    throw new InvalidOptionError(
      `there are leases of two processors of this name: ${first.leases[0]?.id} and ${second.leases[0]?.id}; choose one with reader`,
    )
  }
  return first.leases
}

/** @throws ERR_LEASE_STORAGE when leases are of both modes */
function modeOf(leases: readonly V3Lease[]): FeedMode {
  const [mode = 'latestVersion', ...others] = new Set(leases.map((lease) => lease.mode))
  if (others.length === 0) return mode
  throw new LeaseStorageError('some of the leases read the latest versions, others all versions')
}

interface SnapshotParts {
  readonly processor: V3Processor
  readonly options: ImportV3LeasesOptions
  readonly mode: FeedMode
  readonly clock: Clock
}

interface KeysAt {
  readonly lease: V3Lease
  readonly range: FeedRange
  readonly lsn: Lsn | undefined
}

async function snapshotOf(
  leases: readonly V3Lease[],
  { processor: { monitored }, options, mode, clock }: SnapshotParts,
): Promise<PositionsSnapshot> {
  const { feed, group, signal } = options
  const all = leases.flatMap((lease) => keysOf(lease, monitored))
  refuseOverlaps(all)
  const startWithout = checkedStartWithout(all, options)
  const present = await feed.readFeedRanges({ signal })
  const resolve = ({ range, lsn }: KeysAt): Promise<FeedPosition> => {
    if (lsn === undefined) return feed.resolveStart({ range, start: startWithout, mode, signal })
    if (feed.positionAt !== undefined) return feed.positionAt({ range, lsn, mode, signal })
    throw new InvalidOptionError(`${feed.description} cannot turn LSNs into positions`)
  }
  const positions = await Promise.all(
    all
      .flatMap((keys) =>
        present.flatMap((one): KeysAt[] => {
          const range = commonKeys(one, keys.range)
          return range === undefined ? [] : [{ ...keys, range }]
        }),
      )
      .map(async (keys) => ({ range: feedRangeId(keys.range), ...(await resolve(keys)) })),
  )
  return positionsSnapshot({ group, feed: feed.identity, takenAtMs: clock.wallMs() }, positions)
}

/** @throws ERR_LEASE_STORAGE when the lease is of another container, or of a pkrange that never was */
function keysOf(lease: V3Lease, { containerRid, pkRanges }: MonitoredContainer): readonly KeysAt[] {
  const { id, continuation } = lease
  if ((continuation.containerRid ?? containerRid) !== containerRid) {
    throw new LeaseStorageError(
      `lease ${JSON.stringify(id)} is of another container: ${continuation.containerRid}, not ${containerRid}`,
    )
  }
  // The LSNs of a range that was split go on in its children.
  const ofPkRange = pkRanges.filter(
    (one) => one.id === lease.token || one.parents.includes(lease.token),
  )
  const ranges = lease.range === undefined ? ofPkRange : [lease.range]
  if (ranges.length === 0) {
    throw new LeaseStorageError(
      `lease ${JSON.stringify(id)} is of pkrange ${lease.token}, and the container has none that it became`,
    )
  }
  return continuation.positions.flatMap(({ range: part, lsn }) =>
    ranges.flatMap((whole): KeysAt[] => {
      const { minInclusive, maxExclusive } = whole
      const range = commonKeys({ minInclusive, maxExclusive }, part ?? whole)
      return range === undefined ? [] : [{ lease, range, lsn }]
    }),
  )
}

/** @throws ERR_LEASE_STORAGE */
function refuseOverlaps(all: readonly KeysAt[]): void {
  const sorted = [...all].sort((a, b) => (a.range.minInclusive < b.range.minInclusive ? -1 : 1))
  for (const [index, keys] of sorted.entries()) {
    const next = sorted[index + 1]
    if (next === undefined || !rangesOverlap(keys.range, next.range)) continue
    throw new LeaseStorageError(
      `leases ${JSON.stringify(keys.lease.id)} and ${JSON.stringify(next.lease.id)} have the same keys, as while a split or merge ` +
        'is going on: start their processor once more, and stop it when that is over',
    )
  }
}

function checkedStartWithout(
  all: readonly KeysAt[],
  { startWithout }: ImportV3LeasesOptions,
): StartPosition {
  if (startWithout !== undefined) return checkedStart('startWithout', startWithout)
  const without = all.filter(({ lsn }) => lsn === undefined)
  const [first] = without
  if (first === undefined) return 'now'
  throw new InvalidOptionError(
    `${without.length} leases have no position, such as ${first.lease.id}: say with startWithout where their keys start ` +
      '(beginning, now or a time), as the start options of their processor do',
  )
}
