import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { DocumentStamp } from '../documents/document-stamp.ts'
import { LIVE_ROW, PENDING_DELETE_ROW, type FeedRow } from './feed-row.ts'
import { changeOfRow, changeOfVersionRow, damageOf } from './stored-change.ts'

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

const PLAIN = {
  kind: 'document',
  id: 'a',
  partitionKey: 'p',
  lsn: 12,
  committedAtMs: 100_000,
  document: DOCUMENT,
  expiresAtMs: 130_000,
}

test('a change has a plain shape for destructuring, spread, JSON, structured clone and console.log', () => {
  const change = changeOfRow(STAMP, row())
  assert(change.kind === 'document')
  const { document, id } = change
  expect({ document, id }).toEqual({ document: DOCUMENT, id: 'a' })
  expect({ ...changeOfRow(STAMP, row()) }).toStrictEqual(PLAIN)
  expect(JSON.parse(JSON.stringify(changeOfRow(STAMP, row())))).toStrictEqual(PLAIN)
  expect(structuredClone(changeOfRow(STAMP, row()))).toStrictEqual(PLAIN)
  expect(inspect(changeOfRow(STAMP, row()), { sorted: true })).toBe(
    inspect(PLAIN, { sorted: true }),
  )
  expect(Object.keys(change).sort()).toEqual(Object.keys(PLAIN).sort())
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
    expect(damageOf(change)).toBeUndefined()
    expect(() => change.document).toThrow(expect.objectContaining({ code: 'ERR_STORE_DAMAGED' }))
    expect(damageOf(change)).toMatchObject({ code: 'ERR_STORE_DAMAGED' })
    expect(damageOf({ ...changeOfRow(STAMP, row()) })).toBeUndefined()
  },
)

test('what the store says of a document wins, and a ttl that it computed is in it', () => {
  const body = '{"id":"a","_ts":1,"_lsn":2,"_ts":3}'
  const change = changeOfRow(STAMP, row(body, 30))
  assert(change.kind === 'document')
  expect(change.document).toEqual({ id: 'a', ...SYSTEM, ttl: 30 })
})

test('a pending delete has the columns of its last version', () => {
  const pending: FeedRow = [
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
  ] as unknown as FeedRow
  expect({ ...changeOfRow(STAMP, pending) }).toStrictEqual({
    kind: 'pendingDelete',
    id: 'a',
    partitionKey: 'p',
    lsn: 20,
    committedAtMs: 131_000,
    lastVersion: { ...DOCUMENT, ttl: 30 },
    expiredAtMs: 130_000,
  })
})

test('an entry of the log has its images with their own columns', () => {
  const image = { lsn: 12, ts: 100, rid: 'rrrrrrrrrrrr', ttl: null, body: BODY }
  const entry = { lsn: 20, id: 'a', partitionKey: '["p"]', commitMs: 131_500 }
  const replaced = { ...entry, operation: 'replace', current: image, previous: image } as const
  const deleted = {
    ...entry,
    operation: 'expire',
    current: undefined,
    previous: undefined,
  } as const
  const common = { kind: 'version', id: 'a', partitionKey: 'p', lsn: 20, crts: 131_500 }
  expect({ ...changeOfVersionRow(STAMP, replaced) }).toStrictEqual({
    ...common,
    operationType: 'replace',
    timeToLiveExpired: false,
    current: DOCUMENT,
    previous: DOCUMENT,
  })
  expect({ ...changeOfVersionRow(STAMP, deleted) }).toStrictEqual({
    ...common,
    operationType: 'delete',
    timeToLiveExpired: true,
  })
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
