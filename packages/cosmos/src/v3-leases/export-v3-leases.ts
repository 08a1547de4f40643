import {
  commonKeys,
  decodeContinuation,
  feedRangeId,
  InvalidOptionError,
  lsn,
  parseFeedRangeId,
  systemClock,
  type Clock,
  type FeedMode,
  type FeedRange,
  type LeaseStore,
  type Lsn,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionOf,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { ProcessorGroup, type SnapshotPosition } from '@tidemark/processor'
import { LeasesInUseError } from './leases-in-use-error.ts'
import type { MonitoredContainer } from './monitored-container.ts'
import type { V3Leases } from './v3-lease-container.ts'
import { v3LeaseDocument, type LeaseKeys, type V3LeaseDocument } from './v3-lease-documents.ts'
import type { V3Reader } from './v3-prefix.ts'
import {
  V3Processor,
  v3ProcessorRules,
  v3ReaderRule,
  type V3ProcessorOptions,
} from './v3-processor.ts'

export interface ExportV3LeasesOptions extends V3ProcessorOptions {
  /** Where the group's leases are. */
  readonly leases: LeaseStore
  /** The processor group whose positions are exported. */
  readonly group: string
  /** Who is to continue. */
  readonly reader: V3Reader
  /**
   * How long hosts of a paused group may take to release their leases, in ms.
   * @range any number, 0 or more @default 60_000
   */
  readonly drainTimeoutMs?: number | undefined
  /** `preview`: what would be written is returned, and nothing is done. @default 'export' */
  readonly purpose?: 'export' | 'preview' | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  readonly signal?: AbortSignal | undefined
}

/** A lease of the V3 processor that was written. */
export interface ExportedLease {
  /** Id of its document. */
  readonly id: string
  readonly range: FeedRange
  /** Where the processor continues. 0: the lease has no position, and the processor's start options count. */
  readonly lsn: Lsn
}

const RULES: OptionRules<ExportV3LeasesOptions> = {
  ...v3ProcessorRules,
  leases: requiredOption(option.leases),
  group: requiredOption(option.text),
  reader: requiredOption(v3ReaderRule),
  drainTimeoutMs: option.number,
  purpose: optionOf('export', 'preview'),
  clock: option.clock,
  signal: option.signal,
}

const DRAIN_TIMEOUT_MS = 60_000

/**
 * Writes a group's positions as leases of the .NET or Java processor of that name, which continues there: no change is missed.
 * Leases that it had are replaced; every key has a lease at all times. The group is paused afterwards, so that hosts that
 * are started do not work beside that processor; its leases stay as they are. Returns what was written, in EPK order.
 *
 * Not atomic: if it fails, repeat it before you start the other processor.
 *
 * Rejects with
 * - ERR_LEASES_IN_USE while hosts of the group are alive, unless it is paused and they have released their leases; or while
 *   hosts of the other processor are
 * - ERR_INVALID_OPTION when the group has no leases, or not for every key
 * - ERR_LEASE_STORAGE when the processor cannot have leases in that container, or what is there is no lease
 * - ERR_LEASES_CHANGED when others write there, such as a host of that processor which was started meanwhile
 */
export async function exportV3Leases(
  options: ExportV3LeasesOptions,
): Promise<readonly ExportedLease[]> {
  checkOptions(options, RULES)
  const { purpose = 'export', clock = systemClock, leases, reader, signal } = options
  const processor = await V3Processor.open(options, { signal })
  if (reader !== 'dotnet' && processor.container.partitionKeyPath !== '/id') {
    throw new InvalidOptionError(
      'the Java SDK has its leases in containers partitioned by /id only',
    )
  }
  const old = await processor.readStopped(reader, { signal })
  await using group = new ProcessorGroup({ leases, group: options.group, clock })
  await refuseHosts(group, options)
  if (purpose === 'preview') return (await planOf(group, processor, options)).map(exported)
  const isOwnPause = await group.pause({ signal })
  try {
    await waitForHosts(group, options)
    const plan = await planOf(group, processor, options)
    await writeLeases(plan, old, { processor, reader, signal })
    return plan.map(exported)
  } catch (error) {
    if (isOwnPause) await group.resume()
    throw error
  }
}

interface PlannedLease extends LeaseKeys {
  readonly document: V3LeaseDocument
}

async function refuseHosts(
  group: ProcessorGroup,
  { signal }: ExportV3LeasesOptions,
): Promise<void> {
  const { paused, hosts } = await group.status({ signal })
  if (paused || hosts.length === 0) return
  throw new LeasesInUseError(
    `group ${JSON.stringify(group.group)} has hosts: ${hosts.map(({ host }) => host).join(', ')}; stop them, or pause the group ` +
      'if they are dead',
  )
}

async function waitForHosts(
  group: ProcessorGroup,
  { drainTimeoutMs: timeoutMs = DRAIN_TIMEOUT_MS, signal }: ExportV3LeasesOptions,
): Promise<void> {
  if (await group.waitUntilDrained({ timeoutMs, signal })) return
  throw new LeasesInUseError(
    `hosts of group ${JSON.stringify(group.group)} still have leases ${timeoutMs} ms after it was paused`,
  )
}

async function planOf(
  group: ProcessorGroup,
  processor: V3Processor,
  { reader, signal }: ExportV3LeasesOptions,
): Promise<readonly PlannedLease[]> {
  const { positions } = await group.snapshot({ signal })
  const { containerRid } = processor.monitored
  const mode = modeOf(positions, { containerRid, group: group.group })
  if (mode === 'allVersions' && reader === 'javaHandleChanges') {
    throw new InvalidOptionError('handleChanges of the Java SDK reads the latest versions only')
  }
  const about = {
    reader,
    prefix: processor.prefix(reader),
    containerRid,
    mode,
  }
  const all = keysInPkRanges(positions, processor.monitored)
  const keys = reader === 'javaHandleChanges' ? wholePkRanges(all, processor.monitored) : all
  return keys.map((one) => ({ ...one, document: v3LeaseDocument(one, about) }))
}

/** @throws ERR_INVALID_OPTION when the group has no leases, or follows something else */
function modeOf(
  positions: readonly SnapshotPosition[],
  { containerRid, group }: { readonly containerRid: string; readonly group: string },
): FeedMode {
  const [first] = positions
  if (first === undefined) {
    throw new InvalidOptionError(`group ${JSON.stringify(group)} has no leases`)
  }
  const { collectionRid, mode } = decodeContinuation(first.continuation)
  if (collectionRid === containerRid) return mode
  throw new InvalidOptionError(
    `group ${JSON.stringify(group)} follows collection ${collectionRid}, not the monitored container ${containerRid}`,
  )
}

/** A V3 processor without a position for a key would start there from now: cut where pkranges begin, and none is missing. */
function keysInPkRanges(
  positions: readonly SnapshotPosition[],
  { pkRanges }: MonitoredContainer,
): readonly LeaseKeys[] {
  return pkRanges.flatMap((pkRange) => {
    const parts = positions.flatMap((position): LeaseKeys[] => {
      const range = commonKeys(parseFeedRangeId(position.range) ?? pkRange, pkRange)
      return range === undefined ? [] : [{ range, lsn: lsn(position.lsn), pkRangeId: pkRange.id }]
    })
    let covered = pkRange.minInclusive
    for (const { range } of parts) {
      if (range.minInclusive === covered) covered = range.maxExclusive
    }
    if (covered === pkRange.maxExclusive) return parts
    throw new InvalidOptionError(
      `the group has no lease for keys of pkrange ${pkRange.id} (${feedRangeId(pkRange)}), from ${covered} on`,
    )
  })
}

/** One lease for each pkrange: what is ahead in a part of it comes again, and nothing is missed. */
function wholePkRanges(
  all: readonly LeaseKeys[],
  { pkRanges }: MonitoredContainer,
): readonly LeaseKeys[] {
  return pkRanges.map(({ id, minInclusive, maxExclusive }) => {
    const parts = all.filter(({ pkRangeId }) => pkRangeId === id)
    const lowest = Math.min(...parts.map((part) => part.lsn))
    return { range: { minInclusive, maxExclusive }, lsn: lsn(lowest), pkRangeId: id }
  })
}

/** Leases first, and old ones go last: a processor that is started in between repeats something, and misses nothing. */
async function writeLeases(
  plan: readonly PlannedLease[],
  { leases: old, isInitialized }: V3Leases,
  {
    processor,
    reader,
    signal,
  }: {
    readonly processor: V3Processor
    readonly reader: V3Reader
    readonly signal: AbortSignal | undefined
  },
): Promise<void> {
  const { container } = processor
  const byId = new Map(old.map((lease) => [lease.id, lease]))
  for (const { document } of plan)
    await container.write(document, byId.get(document.id), { signal })
  const written = new Set(plan.map(({ document }) => document.id))
  for (const lease of old) {
    if (!written.has(lease.id)) await container.delete(lease, { signal })
  }
  if (!isInitialized) {
    await container.write({ id: `${processor.prefix(reader)}.info` }, undefined, { signal })
  }
}

function exported({ document: { id }, range, lsn: at }: PlannedLease): ExportedLease {
  return { id, range, lsn: at }
}
