import type { Checkpoint, HostProfile } from '@tidemark/contracts'
import type { ClockAhead, LeaseGroupState } from '@tidemark/processor/lease-model'
import type { Redis } from 'ioredis'

/** What Redis holds under the eight keys of a group, sorted: what is not there has no fields. */
export type RawKeys = Readonly<Record<string, Readonly<Record<string, string>>>>

const HASHES = ['m', 'hi', 'hx', 'hb', 'o', 'c', 't'] as const

/** `tag`: what is before the last part of each key. */
export async function readRawKeys(redis: Redis, tag: string): Promise<RawKeys> {
  const reading = HASHES.map((name) => redis.hgetall(`${tag}:${name}`))
  const deadlines = await redis.zrange(`${tag}:hd`, '0', '-1', 'WITHSCORES')
  const hashes = await Promise.all(reading)
  const raw = Object.fromEntries(HASHES.map((name, index) => [name, sorted(hashes[index] ?? {})]))
  const scores = deadlines.flatMap((host, index): [string, string][] =>
    index % 2 === 0 ? [[host, deadlines[index + 1] ?? '']] : [],
  )
  return { ...raw, hd: sorted(Object.fromEntries(scores)) }
}

export async function deleteRawKeys(redis: Redis, tag: string): Promise<void> {
  await redis.unlink([...HASHES, 'hd'].map((name) => `${tag}:${name}`))
}

/** What they must be, written down here a second time so that a format does not change by mistake. */
export function rawKeysOf({ head, leases, wasGivenLeases, targets }: LeaseGroupState): RawKeys {
  const sessions = [...head.sessions.values()]
  const records = [...leases.values()]
  const bySession = (field: (session: (typeof sessions)[number]) => string): RawKeys[string] =>
    sorted(Object.fromEntries(sessions.map((session) => [session.host, field(session)])))
  return {
    m: sorted({
      schema: 'tidemark-leases-1',
      gen: head.generation,
      mv: String(head.membershipVersion),
      av: String(head.planVersion),
      l: String(head.clockMs),
      ...(head.ahead === undefined ? {} : aheadFields(head.ahead)),
      ...(head.seenMs === undefined ? {} : { n: String(head.seenMs) }),
      floor: String(head.epochFloor),
      ...(head.discardToken === undefined ? {} : { token: head.discardToken }),
      ...(head.paused ? { paused: '1' } : {}),
      ...(head.feed === undefined ? {} : { feed: JSON.stringify(head.feed) }),
      ...(wasGivenLeases ? { given: '1' } : {}),
      lm: String(head.membershipVersion),
      ...Object.fromEntries(
        sessions.map(({ host, incarnation }) => [`s:${host}`, encodeURIComponent(incarnation)]),
      ),
    }),
    hd: bySession(({ deadlineMs }) => String(deadlineMs)),
    hi: bySession(({ incarnation }) => encodeURIComponent(incarnation)),
    hx: bySession(({ profile }) => profileText(profile)),
    hb: bySession(({ beatMs }) => String(beatMs)),
    o: sorted(
      Object.fromEntries(
        records.flatMap(({ id, epoch, owner }) => {
          const who = owner ? `${encodeURIComponent(owner.incarnation)}|${owner.host}` : '|'
          return epoch === 0 ? [] : [[id, `${epoch}|${who}`]]
        }),
      ),
    ),
    c: sorted(
      Object.fromEntries(
        records.map(({ id, checkpoint, changedMs, version }) => [
          id,
          `${checkpoint.lsn}|${changedMs}|${version}|${positionText(checkpoint)}`,
        ]),
      ),
    ),
    t: sorted(Object.fromEntries(targets)),
  }
}

function aheadFields({ newer, older, sinceMs }: ClockAhead): Readonly<Record<string, string>> {
  return {
    al: String(newer.clockMs),
    an: String(newer.storeMs),
    ol: String(older.clockMs),
    on: String(older.storeMs),
    as: String(sinceMs),
  }
}

/** A pause that was ended is the same as one that never was. Names of what the group has are random. */
export function comparableKeys(raw: RawKeys): RawKeys {
  const { paused, lt: _leases, tt: _targets, made: _made, ...meta } = raw['m'] ?? {}
  return { ...raw, m: paused === '1' ? sorted({ ...meta, paused }) : meta }
}

function positionText({ continuation, attempts }: Checkpoint): string {
  const mark = '\u0001'
  if (attempts) {
    const { count, size, first } = attempts
    const which = first === undefined ? '' : `,${encodeURIComponent(first)}`
    return `${mark}${count},${size}${which}${mark}${continuation}`
  }
  return continuation.startsWith(mark) ? `${mark}${mark}${continuation}` : continuation
}

function profileText(profile: HostProfile): string {
  const {
    weight,
    minLeases,
    maxLeases,
    leaving,
    standby,
    refuses = [],
    leasesPerRange = 1,
    presence,
    balanceBy = 'count',
    load,
  } = profile
  const highest = maxLeases === Infinity ? null : maxLeases
  const stored: Record<string, unknown> = { weight, minLeases, maxLeases: highest, leaving }
  if (standby === true) stored['standby'] = true
  if (refuses.length > 0) stored['refuses'] = refuses
  if (leasesPerRange !== 1) stored['leasesPerRange'] = leasesPerRange
  if (presence !== undefined) stored['presence'] = presence
  if (balanceBy !== 'count') stored['balanceBy'] = balanceBy
  if (load !== undefined) stored['load'] = load
  return JSON.stringify(stored)
}

function sorted(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
