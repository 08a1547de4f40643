import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { DocumentStamp } from '../documents/document-stamp.ts'
import type { Change } from './change.ts'
import {
  LIVE_ROW,
  PENDING_DELETE_ROW,
  feedVersion,
  type FeedRow,
  type VersionRow,
} from './feed-row.ts'
import { changeOfRow, changesOfPortable, damageIn, portableChanges } from './stored-change.ts'

const STAMP = new DocumentStamp({
  number: 7,
  rid: 'AAAAAAAAAAA=',
  selfLink: 'dbs/AAAAAA==/colls/AAAAAAAAAAA=/',
})
const BODY = '{"id":"a","pk":"p","n":1}'
const SYSTEM = {
  _rid: 'AAAAAAAAAArrrrrrrrrrrr==',
  _self: 'dbs/AAAAAA==/colls/AAAAAAAAAAA=/docs/AAAAAAAAAArrrrrrrrrrrr==/',
  _etag: '"00000007-0000000000000c"',
  _ts: 100,
  _lsn: 12,
}
const DOCUMENT = { id: 'a', pk: 'p', n: 1, ...SYSTEM }

function row(body = BODY, ttl: number | null = null): FeedRow {
  return [12, LIVE_ROW, body, 130, 100, '["p"]', 'a', 'rrrrrrrrrrrr', ttl, null, null]
}

const IMAGE = { lsn: 12, ts: 100, rid: 'rrrrrrrrrrrr', ttl: null, body: BODY }
const ENTRY = { lsn: 20, id: 'a', partitionKey: '["p"]', commitMs: 131_500 }
const PENDING: FeedRow = [
  20,
  PENDING_DELETE_ROW,
  BODY,
  130,
  131,
  '["p"]',
  'a',
  'rrrrrrrrrrrr',
  30,
  12,
  100,
]
const VERSION = { kind: 'version', id: 'a', partitionKey: 'p', lsn: 20 }

/** Rows, and the plain object that each of their changes looks like. A pending delete and images have columns of their own. */
const KINDS: readonly (readonly [string, FeedRow | VersionRow, object])[] = [
  [
    'a document',
    row(),
    {
      kind: 'document',
      id: 'a',
      partitionKey: 'p',
      lsn: 12,
      committedAtMs: 100_000,
      document: DOCUMENT,
      expiresAtMs: 130_000,
    },
  ],
  [
    'a pending delete',
    PENDING,
    {
      kind: 'pendingDelete',
      id: 'a',
      partitionKey: 'p',
      lsn: 20,
      committedAtMs: 131_000,
      lastVersion: { ...DOCUMENT, ttl: 30 },
      expiredAtMs: 130_000,
    },
  ],
  [
    'a replacement in the log',
    { ...ENTRY, operation: 'replace', current: IMAGE, previous: { ...IMAGE, lsn: 11, ttl: 5 } },
    {
      ...VERSION,
      operationType: 'replace',
      crts: 131_500,
      current: DOCUMENT,
      previous: { ...DOCUMENT, _etag: '"00000007-0000000000000b"', _lsn: 11, ttl: 5 },
      timeToLiveExpired: false,
    },
  ],
  [
    'an expiry in the log',
    { ...ENTRY, operation: 'expire', current: undefined, previous: undefined },
    { ...VERSION, operationType: 'delete', crts: 131_500, timeToLiveExpired: true },
  ],
]

describe.each(KINDS)('%s is for its users a plain object', (_kind, from, plain) => {
  const change = (): Change => changeOfRow(STAMP, from)

  test('for destructuring, spread, JSON, structured clone and console.log', () => {
    const { kind, ...rest } = change()
    expect({ kind, ...rest }).toStrictEqual(plain)
    expect({ ...change() }).toStrictEqual(plain)
    expect(Object.keys(change())).toEqual(Object.keys(plain))
    expect(structuredClone(change())).toStrictEqual(plain)
    // Names of properties in their order, too.
    expect(JSON.stringify(change())).toBe(JSON.stringify(plain))
    expect(inspect(change())).toBe(inspect(plain))
  })

  test('in another thread, too', () => {
    const portable = portableChanges([change(), change()])
    assert(portable)
    const crossed: readonly Change[] = changesOfPortable(structuredClone(portable))
    expect(crossed.map((each) => ({ ...each }))).toStrictEqual([plain, plain])
    expect(crossed.map(({ text }) => text)).toEqual([change().text, change().text])
    expect(portableChanges([change(), { ...change() }])).toBeUndefined()
  })
})

test('a document is parsed once, when somebody looks at it', () => {
  const change = changeOfRow(STAMP, row('not JSON'))
  assert(change.kind === 'document')
  expect([change.id, change.partitionKey, change.lsn, change.text]).toEqual([
    'a',
    'p',
    12,
    'not JSON',
  ])
  const good = changeOfRow(STAMP, row())
  assert(good.kind === 'document')
  expect(good.document).toBe(good.document)
})

test.each(['not JSON', '"text"', '[]', 'null', ''])(
  'text that is no document is damage: %s',
  (body) => {
    const change = changeOfRow(STAMP, row(body))
    assert(change.kind === 'document')
    expect(damageIn([change])).toBeUndefined()
    const damage: unknown = expect.objectContaining({ code: 'ERR_STORE_DAMAGED' })
    expect(() => change.document).toThrow(damage as Error)
    expect(() => STAMP.text(feedVersion(row(body)))).toThrow(damage as Error)
    expect(damageIn([changeOfRow(STAMP, row()), change])).toEqual({
      lsn: 12,
      error: expect.objectContaining({ code: 'ERR_STORE_DAMAGED' }),
    })
    expect(damageIn([{ ...changeOfRow(STAMP, row()) }])).toBeUndefined()
  },
)

test('what the store says of a document wins, and a ttl that it computed is in it', () => {
  const body = '{"id":"a","_ts":1,"_lsn":2,"_ts":3}'
  const change = changeOfRow(STAMP, row(body, 30))
  assert(change.kind === 'document')
  expect(change.document).toEqual({ id: 'a', ...SYSTEM, ttl: 30 })
})

test.each([
  ['["p"]', 'p'],
  ['["a\\"b"]', 'a"b'],
  ['["a","b"]', ['a', 'b']],
  [String.raw`["\u20ac"]`, '€'],
  ['[""]', ''],
  ['[1]', 1],
  ['[null]', null],
  ['[{}]', undefined],
])('the partition key value of %s is read from its text', (text, value) => {
  const change = changeOfRow(STAMP, [
    ...row().slice(0, 5),
    text,
    ...row().slice(6),
  ] as unknown as FeedRow)
  expect(change.partitionKey).toEqual(value)
})

test('a document that an observer sets is the change’s from then on', () => {
  const change = changeOfRow<{ id: string; n: number }>(STAMP, row())
  assert(change.kind === 'document')
  Object.assign(change, { document: { ...DOCUMENT, n: 2 } })
  expect(change.document.n).toBe(2)
  expect({ ...change }).toMatchObject({ document: { n: 2 } })
})

test('a copy that keeps the prototype has no damage and no text', () => {
  const change = changeOfRow(STAMP, row())
  const copy: Change = Object.assign(Object.create(Object.getPrototypeOf(change) as object), change)
  expect(damageIn([copy])).toBeUndefined()
  expect(copy).toMatchObject({ id: 'a', document: DOCUMENT, text: undefined })
})
