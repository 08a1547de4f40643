import type { Touched, TouchedEntity, TouchedRange } from './touched-range.ts'

/** PostgreSQL refuses a payload of 8,000 bytes. This one is ASCII. */
const LONGEST = 7_000

/** The content of a notification: its sender, and what has changed. */
export interface Ring {
  readonly origin: string
  readonly touched: Touched
}

/** Leaves the names out when there are too many. */
export function ringPayload({ origin, touched }: Ring): string {
  if (touched === 'anything') return `${origin}:`
  const { ranges, entities } = touched
  const list = ranges.map(({ collection, range, lsn }) => `${collection}/${range}/${lsn}`)
  for (const { entity, returned } of entities) {
    list.push(returned === undefined ? `m${entity}` : `m${entity}/${returned}`)
  }
  const payload = `${origin}:${list.join(',')}`
  return payload.length <= LONGEST ? payload : `${origin}:`
}

/** A payload of another version stands for anything. That of an earlier version has no entities. */
export function parseRing(payload: string): Ring {
  const [, origin = '', list = ''] = /^([^:]*):([\d/,m]*)$/.exec(payload) ?? []
  if (list === '') return { origin, touched: 'anything' }
  const parts = list.split(',')
  const ranges = parts.filter((part) => !part.startsWith('m')).map(parseRange)
  const entities = parts.filter((part) => part.startsWith('m')).map(parseEntity)
  const isUnderstood = ranges.every(isWhole) && entities.every(isWholeEntity)
  return { origin, touched: isUnderstood ? { ranges, entities } : 'anything' }
}

function parseRange(text: string): TouchedRange {
  const [collection = Number.NaN, range = Number.NaN, lsn = Number.NaN, ...rest] = text
    .split('/')
    .map(whole)
  return { collection, range, lsn: rest.length === 0 ? lsn : Number.NaN }
}

function parseEntity(text: string): TouchedEntity {
  const [entity = '', returned, ...rest] = text.slice(1).split('/')
  return {
    entity: rest.length === 0 ? whole(entity) : Number.NaN,
    returned: returned === undefined ? undefined : whole(returned),
  }
}

function isWholeEntity({ entity, returned = 0 }: TouchedEntity): boolean {
  return Number.isSafeInteger(entity) && Number.isSafeInteger(returned)
}

function whole(text: string): number {
  return text === '' ? Number.NaN : Number(text)
}

function isWhole({ collection, range, lsn }: TouchedRange): boolean {
  return [collection, range, lsn].every(Number.isSafeInteger)
}
