import {
  LeaseStorageError,
  lsn,
  parseFeedRangeId,
  type Checkpoint,
  type FeedRange,
  type GroupFeed,
  type HostIdentity,
  type HostProfile,
  type Lease,
} from '@tidemark/contracts'
import { parseProfile } from './host-profile-text.ts'
import { parsePosition } from './stored-position.ts'

/** A script's array reply as texts and nested arrays. */
export type ReplyList = readonly unknown[]

/** The feed that a group follows; undefined where it is not said in words of these scripts. */
export function parseFeed(text: string | undefined): GroupFeed | undefined {
  if (!text) return undefined
  const feed: unknown = JSON.parse(text)
  if (typeof feed !== 'object' || feed === null || !('rid' in feed && 'name' in feed))
    return undefined
  const { rid, name } = feed
  return typeof rid === 'string' && typeof name === 'string' ? { rid, name } : undefined
}

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

/** What the fields of a lease in `c` and its id say. */
export interface StoredCheckpoint {
  readonly range: FeedRange
  readonly checkpoint: Checkpoint
  readonly changedMs: number
  readonly version: string
}

/** `lsn|changed at ms|version|position`, see `positionText`; undefined as `parse_range` and `is_checkpoint` in prelude.lua have it. */
export function parseCheckpoint(id: string, stored: string): StoredCheckpoint | undefined {
  const range = parseFeedRangeId(id)
  const [fields = '', position = '', changedMs, version = ''] = CHECKPOINT.exec(stored) ?? []
  if (range === undefined || position === '' || !Number.isSafeInteger(Number(position))) return
  const checkpoint = { ...parsePosition(stored.slice(fields.length)), lsn: lsn(Number(position)) }
  return { range, checkpoint, changedMs: Number(changedMs), version }
}

const CHECKPOINT = /^(\d+)\|(\d+)\|(\d+)\|/

/** Who owns a lease, and at which epoch. */
export interface StoredOwner {
  readonly epoch: number
  readonly owner: HostIdentity | undefined
}

/** A lease from its stored parts; `beatMs`: time of the owner's last heartbeat, 0 if it has no session. */
export function leaseOf(
  id: string,
  { range, checkpoint, changedMs, version }: StoredCheckpoint,
  { epoch, owner, target, beatMs }: StoredOwner & { target: string | undefined; beatMs: number },
): Lease {
  const etag = target === undefined ? `"${version}"` : `"${version}-${encodeURIComponent(target)}"`
  const timestampMs = Math.max(changedMs, beatMs)
  return { id, range, owner, epoch, checkpoint, target, timestampMs, etag }
}

export function storedProfile(text: string | undefined): HostProfile {
  const profile = text === undefined ? undefined : parseProfile(text)
  if (profile === undefined) throw unexpected(text)
  return profile
}

/** `epoch|incarnation|host`; of a lease that nobody owned undefined. */
export function parseOwner(value: string | undefined): StoredOwner {
  if (value === undefined || !/^\d+\|[^|]*\|/.test(value)) return { epoch: 0, owner: undefined }
  const [epoch = '', incarnation = ''] = value.split('|', 2)
  const host = value.slice(epoch.length + incarnation.length + 2)
  const owner = host === '' ? undefined : { host, incarnation: decodeURIComponent(incarnation) }
  return { epoch: replyNumber(epoch), owner }
}

/** From a flat list of names and values. */
export function textMap(reply: unknown): ReadonlyMap<string, string> {
  const list = replyList(reply)
  const map = new Map<string, string>()
  for (let index = 0; index + 1 < list.length; index += 2) {
    map.set(replyText(list[index]), replyText(list[index + 1]))
  }
  return map
}

export function unexpected(reply: unknown): LeaseStorageError {
  return new LeaseStorageError(`not what the lease scripts store: ${JSON.stringify(reply)}`)
}
