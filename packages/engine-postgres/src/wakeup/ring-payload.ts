/** PostgreSQL refuses a payload of 8,000 bytes. Ours is ASCII. */
const LONGEST = 7_000

/** What a notification says: who rings, and which segments were written to. No segments: it may be any. */
export interface Ring {
  readonly origin: string
  readonly segments: readonly number[]
}

/** Leaves the segments out when they are too many to name. */
export function ringPayload({ origin, segments }: Ring): string {
  const payload = `${origin}:${segments.join(',')}`
  return payload.length <= LONGEST ? payload : `${origin}:`
}

/** A payload of another version names everything. */
export function parseRing(payload: string): Ring {
  const [, origin = '', list = ''] = /^([^:]*):(\d+(?:,\d+)*)?$/.exec(payload) ?? []
  const segments = list === '' ? [] : list.split(',').map(Number)
  return { origin, segments: segments.every(Number.isSafeInteger) ? segments : [] }
}
