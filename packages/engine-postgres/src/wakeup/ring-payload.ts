import type { TouchedRange } from './touched-range.ts'

/** PostgreSQL refuses a payload of 8,000 bytes. This one is ASCII. */
const LONGEST = 7_000

/** The content of a notification: its sender, and how far which pkranges have come. None: anything may have changed. */
export interface Ring {
  readonly origin: string
  readonly touched: readonly TouchedRange[]
}

/** Leaves the ranges out when there are too many to name. */
export function ringPayload({ origin, touched }: Ring): string {
  const list = touched.map(({ collection, range, lsn }) => `${collection}/${range}/${lsn}`)
  const payload = `${origin}:${list.join(',')}`
  return payload.length <= LONGEST ? payload : `${origin}:`
}

/** A payload of another version stands for all ranges. */
export function parseRing(payload: string): Ring {
  const [, origin = '', list = ''] = /^([^:]*):([\d/,]*)$/.exec(payload) ?? []
  const touched = list === '' ? [] : list.split(',').map(parseTouched)
  return { origin, touched: touched.every(isWhole) ? touched : [] }
}

function parseTouched(text: string): TouchedRange {
  const [collection = Number.NaN, range = Number.NaN, lsn = Number.NaN, ...rest] = text
    .split('/')
    .map((part) => (part === '' ? Number.NaN : Number(part)))
  return { collection, range, lsn: rest.length === 0 ? lsn : Number.NaN }
}

function isWhole({ collection, range, lsn }: TouchedRange): boolean {
  return [collection, range, lsn].every(Number.isSafeInteger)
}
