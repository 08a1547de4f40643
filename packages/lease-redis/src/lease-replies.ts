import {
  LeaseStorageError,
  lsn,
  parseFeedRangeId,
  type Checkpoint,
  type HostIdentity,
  type HostProfile,
  type HostSession,
  type Lease,
  type LeaseGroupSnapshot,
} from '@tidemark/contracts'
import { parseProfile } from './host-profile-text.ts'
import { parsePosition } from './stored-position.ts'

/** A script's array reply as texts and nested arrays. */
export type ReplyList = readonly unknown[]

/** @throws ERR_LEASE_STORAGE: the scripts answer nothing else */
export function replyList(reply: unknown): ReplyList {
  if (Array.isArray(reply)) return reply
  throw unexpected(reply)
}

export function replyText(reply: unknown): string {
  if (typeof reply === 'string') return reply
  if (typeof reply === 'number') return String(reply)
  throw unexpected(reply)
}

export function replyNumber(reply: unknown): number {
  const value = typeof reply === 'number' ? reply : Number(replyText(reply))
  if (Number.isFinite(value)) return value
  throw unexpected(reply)
}

/** Parses the snapshot of `group_data` in prelude.lua. */
export function parseGroupData(reply: unknown): LeaseGroupSnapshot {
  const [generation, clock, membershipVersion, planVersion, paused, ...tables] = replyList(reply)
  const [deadlines, incarnations, profiles, beats, owners, checkpoints, targets] =
    tables.map(textMap)
  const sessions: HostSession[] = []
  for (const [host, incarnation] of sorted(incarnations)) {
    sessions.push({
      host,
      incarnation: decodeURIComponent(incarnation),
      profile: storedProfile(profiles?.get(host)),
      deadlineMs: replyNumber(deadlines?.get(host)),
    })
  }
  const present = new Map(sessions.map(({ host, incarnation }) => [host, incarnation]))
  const leases: Lease[] = []
  for (const [id, checkpoint] of sorted(checkpoints)) {
    // It was overwritten and is not a lease. A count of the keys shows that it is missing.
    if (!isStoredLease(id, checkpoint)) continue
    const { epoch, owner } = parseOwner(owners?.get(id))
    const target = targets?.get(id)
    const live = owner !== undefined && present.get(owner.host) === owner.incarnation
    const beatMs = live ? replyNumber(beats?.get(owner.host)) : 0
    leases.push(leaseOf({ id, epoch, owner, checkpoint, target, beatMs }))
  }
  return {
    clockMs: replyNumber(clock),
    membershipVersion: replyNumber(membershipVersion),
    planVersion: replyNumber(planVersion),
    generation: replyText(generation),
    paused: replyNumber(paused) === 1,
    hosts: sessions,
    leases,
  }
}

/** A lease from its stored fields. */
export function leaseOf(fields: {
  readonly id: string
  readonly epoch: number
  readonly owner: HostIdentity | undefined
  /** `lsn|changed at ms|version|position`: see `positionText`. */
  readonly checkpoint: string
  readonly target: string | undefined
  /** Time of the owner's last heartbeat; 0 if it has no session. */
  readonly beatMs: number
}): Lease {
  const { id, epoch, owner, target, beatMs } = fields
  const [position = '', changedMs = '', version = ''] = fields.checkpoint.split('|', 3)
  const text = fields.checkpoint.slice(position.length + changedMs.length + version.length + 3)
  const range = parseFeedRangeId(id)
  if (range === undefined) throw unexpected(id)
  const checkpoint: Checkpoint = { ...parsePosition(text), lsn: lsn(replyNumber(position)) }
  const etag = target === undefined ? `"${version}"` : `"${version}-${encodeURIComponent(target)}"`
  const timestampMs = Math.max(replyNumber(changedMs), beatMs)
  return { id, range, owner, epoch, checkpoint, target, timestampMs, etag }
}

/** As `parse_range` and `is_checkpoint` in prelude.lua. */
function isStoredLease(id: string, checkpoint: string): boolean {
  const [, position = ''] = /^(\d+)\|\d+\|\d+\|/.exec(checkpoint) ?? []
  return (
    parseFeedRangeId(id) !== undefined && position !== '' && Number.isSafeInteger(Number(position))
  )
}

function storedProfile(text: string | undefined): HostProfile {
  const profile = text === undefined ? undefined : parseProfile(text)
  if (profile === undefined) throw unexpected(text)
  return profile
}

/** `epoch|incarnation|host` */
function parseOwner(value: string | undefined): { epoch: number; owner: HostIdentity | undefined } {
  if (value === undefined || !/^\d+\|[^|]*\|/.test(value)) return { epoch: 0, owner: undefined }
  const [epoch = '', incarnation = ''] = value.split('|', 2)
  const host = value.slice(epoch.length + incarnation.length + 2)
  const owner = host === '' ? undefined : { host, incarnation: decodeURIComponent(incarnation) }
  return { epoch: replyNumber(epoch), owner }
}

/** From a flat list of names and values. */
function textMap(reply: unknown): ReadonlyMap<string, string> {
  const list = replyList(reply)
  const map = new Map<string, string>()
  for (let index = 0; index + 1 < list.length; index += 2) {
    map.set(replyText(list[index]), replyText(list[index + 1]))
  }
  return map
}

function sorted(
  map: ReadonlyMap<string, string> = new Map(),
): readonly (readonly [string, string])[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}

function unexpected(reply: unknown): LeaseStorageError {
  return new LeaseStorageError(`not what the lease scripts store: ${JSON.stringify(reply)}`)
}
