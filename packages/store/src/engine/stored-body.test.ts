import fc from 'fast-check'
import { expect, test } from 'vitest'
import { documentEtag, etagLsn, stampBody, ttlUntil } from './stored-body.ts'

const number = fc.integer({ min: 0, max: 2 ** 31 })

test('ST-3 an etag names its collection and LSN, and fits no other collection', () => {
  fc.assert(
    fc.property(number, fc.maxSafeNat(), (collection, lsn) => {
      const etag = documentEtag(collection, lsn)
      expect(etag).toMatch(/^".+"$/)
      expect(etagLsn(collection, etag)).toBe(lsn)
      expect(etagLsn(collection + 1, etag)).toBeUndefined()
    }),
  )
  for (const text of ['', '*', '""', '"1-1"', 'W/"00000001-00000000000001"']) {
    expect(etagLsn(1, text)).toBeUndefined()
  }
})

test('ST-2 stamped text is JSON with the system properties before the document', () => {
  fc.assert(
    fc.property(fc.jsonValue(), number, (value, lsn) => {
      const tail = JSON.stringify({ id: 'a', value }).slice(1)
      const body = stampBody(
        { head: '{"_rid":"r","_self":"s",', tail },
        { collection: 7, lsn, ts: 9 },
      )
      expect(JSON.parse(body)).toEqual({
        _rid: 'r',
        _self: 's',
        _etag: documentEtag(7, lsn),
        _ts: 9,
        _lsn: lsn,
        ...(JSON.parse(`{${tail}`) as object),
      })
    }),
  )
})

test('JB-2 a time to live up to a given second is at least one, and stands in the text', () => {
  expect([120, 101, 100, 99].map((second) => ttlUntil(second, 100))).toEqual([20, 1, 1, 1])
  const body = stampBody(
    { head: '{', tail: '"id":"a"}' },
    { collection: 7, lsn: 1, ts: 100, ttl: ttlUntil(120, 100) },
  )
  expect(JSON.parse(body)).toMatchObject({ ttl: 20, id: 'a' })
})
