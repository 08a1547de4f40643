import {
  FULL_RANGE,
  LeaseStorageError,
  lsn,
  parseFeedRangeId,
  type BatchAttempts,
  type Checkpoint,
  type DocumentBody,
  type GroupFeed,
  type HostProfile,
  type PkRangeId,
} from '@tidemark/contracts'
import type { ClockAhead, GroupHead, LeaseRecord, SessionRecord } from '../lease-group-state.ts'

/** Raised when the documents change in a way that an older release would read wrongly. */
const SCHEMA = 2

/** Every document of a group has the group's name under this path (decision 0023: one partition key value). */
export const PARTITION_KEY_PATH = '/partitionKey'

/** Ids of a group's documents that are there once. */
export const GROUP_ID = 'group'
export const PLAN_ID = 'plan'
export const RELEASED_ID = 'released'

/** The partition key value under which groups are listed. No group may be called so. */
export const REGISTRY_PARTITION = '$groups'

/** The one of what hosts tell of their work. */
export const NOTES_PARTITION = '$notes'

/** Heartbeats read and write it; it is small whatever the number of leases. */
export interface GroupDocument
  extends DocumentBody, Omit<GroupHead, 'sessions' | 'seenMs' | 'ahead' | 'paused' | 'feed'> {
  readonly partitionKey: string
  readonly kind: 'group'
  readonly schema: number
  readonly seenMs?: number
  readonly ahead?: ClockAhead
  /** Absent = false. */
  readonly paused?: boolean
  /** Absent = no host of this release or a later one has begun yet. */
  readonly feed?: GroupFeed
  readonly sessions: readonly StoredSession[]
  /** Names the set of leases that counts; absent when the group has none. */
  readonly set?: string
  /** Rises when a set is named or given up: an old attempt to name one is recognised by it. */
  readonly setVersion: number
  /** A set was given up, and its highest epoch is not in `epochFloor` yet. */
  readonly discarding: boolean
  /** A host is writing a big set, so that the others wait instead of writing theirs too. */
  readonly creating?: CreatingClaim
}

/** A courtesy: nothing goes wrong when it is ignored. */
export interface CreatingClaim {
  /** The handle that creates. */
  readonly by: string
  /** Store time, epoch ms. */
  readonly sinceMs: number
}

/** JSON has no infinity: null stands for "no highest number". */
interface StoredSession extends Omit<SessionRecord, 'profile'> {
  readonly profile: Omit<HostProfile, 'maxLeases'> & { readonly maxLeases: number | null }
}

/** Targets of the leases of one set. */
export interface PlanDocument extends DocumentBody {
  readonly partitionKey: string
  readonly kind: 'plan'
  readonly set: string
  readonly hosts: readonly { readonly host: string; readonly leaseIds: readonly string[] }[]
}

/** One lease. The names that people and tools look for are at the top level; those of Azure's V3 processor, too. */
export interface LeaseDocument extends DocumentBody, CosmosLease {
  readonly partitionKey: string
  readonly kind: 'lease'
  readonly set: string
  readonly leaseId: string
  /** Host name; absent when nobody owns it. */
  readonly owner?: string
  readonly incarnation?: string
  readonly epoch: number
  readonly continuation: Checkpoint['continuation']
  readonly lsn: number
  /** Absent = none. */
  readonly attempts?: BatchAttempts
  readonly changedMs: number
  readonly recordVersion: number
}

/**
 * The properties by which readers of Azure's V3 lease documents know one: its estimator, with it KEDA's scaler, and
 * people. Nothing here reads them.
 */
interface CosmosLease {
  /** 0: the lease is one whole pkrange, as far as is known. 1: it is an interval of keys. */
  readonly version: 0 | 1
  /** Id of the pkrange, or the interval as `min-max`. */
  readonly LeaseToken: string
  readonly FeedRange: { readonly Range: { readonly min: string; readonly max: string } }
  /** Host name; null when nobody owns it. */
  readonly Owner: string | null
  /** The position as etag of a feed read. */
  readonly ContinuationToken: string
  readonly properties: Readonly<Record<string, string>>
}

/** A group's document with what it says beside the head. */
export interface StoredGroup {
  readonly head: GroupHead
  readonly set: string | undefined
  readonly setVersion: number
  readonly discarding: boolean
  readonly creating: CreatingClaim | undefined
}

export function groupDocument(group: string, stored: StoredGroup): GroupDocument {
  const { head, set, setVersion, discarding, creating } = stored
  const { seenMs, ahead, feed, sessions, ...rest } = head
  return {
    id: GROUP_ID,
    partitionKey: group,
    kind: 'group',
    schema: SCHEMA,
    ...rest,
    ...(seenMs === undefined ? {} : { seenMs }),
    ...(ahead === undefined ? {} : { ahead }),
    ...(feed === undefined ? {} : { feed }),
    sessions: [...sessions.values()].map(storedSession),
    ...(set === undefined ? {} : { set }),
    setVersion,
    discarding,
    ...(creating === undefined ? {} : { creating }),
  }
}

/** @throws ERR_LEASE_STORAGE when the document is of something else or of a newer release */
export function parseGroupDocument(document: DocumentBody): StoredGroup {
  if (!isGroupDocument(document)) throw notALeaseDocument(document)
  const { set, setVersion, discarding, sessions, seenMs } = document
  return {
    head: {
      clockMs: document.clockMs,
      ahead: document.ahead,
      seenMs,
      membershipVersion: document.membershipVersion,
      planVersion: document.planVersion,
      generation: document.generation,
      epochFloor: document.epochFloor,
      discardToken: document.discardToken,
      paused: document.paused ?? false,
      feed: isGroupFeed(document.feed) ? document.feed : undefined,
      sessions: new Map(sessions.map((session) => [session.host, parseSession(session)])),
    },
    set,
    setVersion,
    discarding,
    creating: document.creating,
  }
}

export function planDocument(
  group: string,
  set: string,
  targets: ReadonlyMap<string, string>,
): PlanDocument {
  const hosts = [...Map.groupBy(targets, ([, host]) => host)].map(([host, entries]) => ({
    host,
    leaseIds: entries.map(([leaseId]) => leaseId),
  }))
  return { id: PLAN_ID, partitionKey: group, kind: 'plan', set, hosts }
}

export function releasedDocument(group: string, stamp: string): DocumentBody {
  return Object.assign({ id: RELEASED_ID }, { partitionKey: group, kind: 'released', stamp })
}

/** The targets, if the plan is for this set. */
export function parsePlanDocument(
  document: DocumentBody,
  set: string | undefined,
): ReadonlyMap<string, string> {
  if (!isPlanDocument(document)) throw notALeaseDocument(document)
  if (document.set !== set) return new Map()
  return new Map(
    document.hosts.flatMap(({ host, leaseIds }) =>
      leaseIds.map((leaseId): [string, string] => [leaseId, host]),
    ),
  )
}

export function leaseDocumentId(set: string, leaseId: string): string {
  return `${set}-${leaseId}`
}

export function leaseDocument(
  record: LeaseRecord,
  {
    group,
    set,
    pkRangeId,
  }: {
    readonly group: string
    readonly set: string
    /** Of the pkrange that is exactly this lease's range; undefined if it is not known to be one. */
    readonly pkRangeId: PkRangeId | undefined
  },
): LeaseDocument {
  const { id, owner, epoch, checkpoint, changedMs, version } = record
  return {
    id: leaseDocumentId(set, id),
    partitionKey: group,
    kind: 'lease',
    set,
    leaseId: id,
    ...(owner === undefined ? {} : { owner: owner.host, incarnation: owner.incarnation }),
    epoch,
    continuation: checkpoint.continuation,
    lsn: checkpoint.lsn,
    ...(checkpoint.attempts === undefined ? {} : { attempts: checkpoint.attempts }),
    changedMs,
    recordVersion: version,
    ...cosmosLease(record, pkRangeId),
  }
}

function cosmosLease(
  { id, owner, checkpoint }: LeaseRecord,
  pkRangeId: PkRangeId | undefined,
): CosmosLease {
  const { minInclusive: min, maxExclusive: max } = parseFeedRangeId(id) ?? FULL_RANGE
  return {
    version: pkRangeId === undefined ? 1 : 0,
    LeaseToken: pkRangeId ?? id,
    FeedRange: { Range: { min, max } },
    Owner: owner?.host ?? null,
    ContinuationToken: `"${checkpoint.lsn}"`,
    properties: {},
  }
}

export function parseLeaseDocument(document: LeaseDocument): LeaseRecord {
  const { owner, incarnation, attempts } = document
  return {
    id: document.leaseId,
    owner:
      owner === undefined || incarnation === undefined ? undefined : { host: owner, incarnation },
    epoch: document.epoch,
    checkpoint: {
      continuation: document.continuation,
      lsn: lsn(document.lsn),
      // Anything else tells nothing, and the lease counts all the same.
      ...(isAttempts(attempts) ? { attempts } : {}),
    },
    changedMs: document.changedMs,
    version: document.recordVersion,
  }
}

export function isLeaseDocument(document: DocumentBody): document is LeaseDocument {
  return (
    property(document, 'kind') === 'lease' &&
    ['epoch', 'lsn', 'changedMs', 'recordVersion'].every((name) => isCount(document, name)) &&
    typeof property(document, 'set') === 'string' &&
    isInItsPlace(document) &&
    typeof property(document, 'continuation') === 'string'
  )
}

/** Of a range of keys, and under the id that goes with it: else a copy would stand for another lease. */
function isInItsPlace(document: DocumentBody): boolean {
  const leaseId = property(document, 'leaseId')
  if (typeof leaseId !== 'string' || parseFeedRangeId(leaseId) === undefined) return false
  return document.id === leaseDocumentId(String(property(document, 'set')), leaseId)
}

function isCount(document: DocumentBody, name: string): boolean {
  const value = property(document, name)
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

export function notALeaseDocument({ id }: DocumentBody): LeaseStorageError {
  return new LeaseStorageError(
    `document ${JSON.stringify(id)} is not one that this release of DocumentLeaseStore wrote ` +
      `(schema ${SCHEMA}); give the leases a collection, or a group name, of their own`,
  )
}

function isGroupDocument(document: DocumentBody): document is GroupDocument {
  const sessions = property(document, 'sessions')
  return (
    property(document, 'kind') === 'group' &&
    property(document, 'schema') === SCHEMA &&
    hasNumbers(document, ['clockMs', 'membershipVersion', 'planVersion', 'epochFloor']) &&
    hasNumbers(document, ['setVersion']) &&
    typeof property(document, 'generation') === 'string' &&
    typeof property(document, 'discarding') === 'boolean' &&
    isOptional('boolean', property(document, 'paused')) &&
    isClaim(property(document, 'creating')) &&
    Array.isArray(sessions) &&
    sessions.every(isSession)
  )
}

function isGroupFeed(value: unknown): value is GroupFeed {
  return (
    isObject(value) &&
    typeof property(value, 'rid') === 'string' &&
    typeof property(value, 'name') === 'string'
  )
}

function storedSession(session: SessionRecord): StoredSession {
  const { profile } = session
  const maxLeases = Number.isFinite(profile.maxLeases) ? profile.maxLeases : null
  return { ...session, profile: { ...profile, maxLeases } }
}

function parseSession(session: StoredSession): SessionRecord {
  const { profile } = session
  return { ...session, profile: { ...profile, maxLeases: profile.maxLeases ?? Infinity } }
}

function isClaim(value: unknown): boolean {
  return (
    value === undefined ||
    (isObject(value) && typeof property(value, 'by') === 'string' && hasNumbers(value, ['sinceMs']))
  )
}

function isSession(value: unknown): value is StoredSession {
  return (
    isObject(value) &&
    typeof property(value, 'host') === 'string' &&
    typeof property(value, 'incarnation') === 'string' &&
    hasNumbers(value, ['deadlineMs', 'beatMs']) &&
    isProfile(property(value, 'profile'))
  )
}

/** All but numbers of leases and `leaving` may be absent in what an older release wrote. */
function isProfile(value: unknown): value is StoredSession['profile'] {
  return (
    isObject(value) &&
    hasNumbers(value, ['weight', 'minLeases']) &&
    isOptional('boolean', property(value, 'standby')) &&
    isOptionalTexts(property(value, 'refuses')) &&
    isOptional('number', property(value, 'leasesPerRange')) &&
    isOptional('string', property(value, 'presence')) &&
    isOptional('string', property(value, 'balanceBy')) &&
    isOptional('string', property(value, 'load'))
  )
}

function isAttempts(value: unknown): value is BatchAttempts {
  if (!isObject(value) || !hasNumbers(value, ['count', 'size'])) return false
  const first = property(value, 'first')
  return first === undefined || typeof first === 'string'
}

function isOptional(type: 'boolean' | 'number' | 'string', value: unknown): boolean {
  return value === undefined || typeof value === type
}

function isOptionalTexts(value: unknown): boolean {
  return (
    value === undefined || (Array.isArray(value) && value.every((text) => typeof text === 'string'))
  )
}

function isPlanDocument(document: DocumentBody): document is PlanDocument {
  return (
    property(document, 'kind') === 'plan' &&
    typeof property(document, 'set') === 'string' &&
    Array.isArray(property(document, 'hosts'))
  )
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function property(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
}

function hasNumbers(value: object, names: readonly string[]): boolean {
  return names.every((name) => typeof property(value, name) === 'number')
}
