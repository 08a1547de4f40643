import { lsn } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import { javaContinuation, parseV3Continuation } from './v3-continuation.ts'
import { parseV3Lease } from './v3-lease.ts'
import { v3Prefix } from './v3-prefix.ts'

const STORED = { _etag: '"etag"', _ts: 1_785_000_000 }

describe('a continuation', () => {
  test.each([
    ['"123"', 123],
    ['123', 123],
    ['W/"7"', 7],
    ['"0"', 0],
  ])('as etag %s', (token, at) => {
    expect(parseV3Continuation(token).positions).toEqual([{ range: undefined, lsn: at }])
  })

  test.each([null, undefined, ''])('that is missing (%s) is no position', (token) => {
    expect(parseV3Continuation(token).positions).toEqual([{ range: undefined, lsn: undefined }])
  })

  const range = { minInclusive: '', maxExclusive: '2000' }
  const about = { containerRid: 'AbCdEfGhIjK=', range, lsn: lsn(42), mode: 'allVersions' } as const

  test('of a Java reader says container, mode, and an LSN for each interval', () => {
    expect(parseV3Continuation(javaContinuation(about))).toEqual({
      positions: [{ range, lsn: 42 }],
      mode: 'allVersions',
      containerRid: 'AbCdEfGhIjK=',
    })
  })

  test('of a Java reader is the same text in both alphabets of base64, which Java uses in turn', () => {
    for (let at = 0; at < 500; at += 1) {
      expect(javaContinuation({ ...about, lsn: lsn(at) })).not.toMatch(/[-_+/]/)
    }
  })

  test('of older Java readers has intervals as JSON in JSON', () => {
    const token = { token: '"5"', range: JSON.stringify({ min: '', max: '2000' }) }
    const state = { V: 1, Rid: 'r', Mode: 'INCREMENTAL', Continuation: { Continuation: [token] } }
    const base64 = Buffer.from(JSON.stringify(state)).toString('base64')
    expect(parseV3Continuation(base64)).toEqual({
      positions: [{ range, lsn: 5 }],
      mode: 'latestVersion',
      containerRid: 'r',
    })
  })

  test('as plain JSON, with a part that was not read yet', () => {
    const Continuation = [
      { token: '"5"', range: { min: '', max: '2000' } },
      { token: null, range: { min: '2000', max: 'FF' } },
    ]
    expect(parseV3Continuation(JSON.stringify({ Rid: 'r', Continuation })).positions).toEqual([
      { range, lsn: 5 },
      { range: { minInclusive: '2000', maxExclusive: 'FF' }, lsn: undefined },
    ])
  })

  test('of a Java reader that was never answered is no position', () => {
    const state = { V: 1, Rid: 'r', Mode: 'INCREMENTAL', StartFrom: { Type: 'NOW' } }
    const base64 = Buffer.from(JSON.stringify(state)).toString('base64')
    expect(parseV3Continuation(base64).positions).toEqual([{ range: undefined, lsn: undefined }])
  })

  test.each([
    '"12a"',
    'later',
    '99999999999999999999',
    '{}',
    '{"Continuation":[]}',
    '{"Continuation":[{"token":"\\"5\\""}]}',
    '{"Continuation":[{"token":"?","range":{"min":"","max":"FF"}}]}',
    17,
  ])('%s is refused', (token) => {
    expect(() => parseV3Continuation(token)).toThrow(
      expect.objectContaining({ code: 'ERR_LEASE_STORAGE' }),
    )
  })
})

describe('a lease', () => {
  test('with its keys in either SDK’s case, an owner, and the server’s time of its last write', () => {
    const Range = { min: '', max: '2000' }
    for (const keys of [{ FeedRange: { Range } }, { feedRange: { Range } }]) {
      const document = { id: 'p..0', LeaseToken: '0', Owner: 'w', ...keys, ...STORED }
      expect(parseV3Lease(document)).toMatchObject({
        token: '0',
        range: { minInclusive: '', maxExclusive: '2000' },
        owner: 'w',
        writtenMs: 1_785_000_000_000,
        mode: 'latestVersion',
      })
    }
  })

  test('of an interval without FeedRange has it in its token', () => {
    expect(parseV3Lease({ id: 'p..-FF', LeaseToken: '-FF', ...STORED }).range).toEqual({
      minInclusive: '',
      maxExclusive: 'FF',
    })
  })

  test('of all versions', () => {
    const document = { id: 'p..0', LeaseToken: '0', Mode: 'Full-Fidelity Feed', ...STORED }
    expect(parseV3Lease(document).mode).toBe('allVersions')
  })

  test('without an owner is nobody’s, whatever its timestamp says', () => {
    const timestamp = '2099-01-01T00:00:00Z'
    for (const Owner of [null, '', undefined]) {
      const document = { id: 'p..0', LeaseToken: '0', Owner, timestamp, ...STORED }
      expect(parseV3Lease(document).owner).toBeUndefined()
    }
  })

  test.each([
    { id: 'p..0', ...STORED },
    { id: 'p..0', LeaseToken: 'a cat', ...STORED },
    { id: 'p..0', LeaseToken: '0', ContinuationToken: 'a cat', ...STORED },
    { id: 'p..0', LeaseToken: '0' },
    { id: 'p..0', LeaseToken: '0', recordVersion: 3, ...STORED },
    null,
  ])('%j is refused', (document) => {
    expect(() => parseV3Lease(document)).toThrow(
      expect.objectContaining({ code: 'ERR_LEASE_STORAGE' }),
    )
  })
})

test('the prefix of ids has the _rid of the database, which is in that of the container', () => {
  const name = {
    processorName: 'mirror',
    endpoint: 'https://acme.documents.azure.com:443/',
    database: 'shop',
    container: 'orders',
    containerRid: 'hp4yANFbUXk=',
  }
  expect(v3Prefix(name, 'dotnet')).toBe('mirroracme.documents.azure.com_hp4yAA==_hp4yANFbUXk=')
  expect(v3Prefix(name, 'java')).toBe(v3Prefix(name, 'dotnet'))
  expect(v3Prefix(name, 'javaHandleChanges')).toBe('mirroracme.documents.azure.com_shop_orders')
  expect(() => v3Prefix({ ...name, endpoint: 'acme' }, 'java')).toThrow(/URL of an account/)
})
