import { expect, test } from 'vitest'
import { collectionRid, databaseRid, ridBytes, ridText } from './resource-ids.ts'

test('numbers of one store have different resource ids, other stores other ones', () => {
  const rids = new Set<string>()
  for (let number = 1; number <= 5000; number++) {
    const rid = databaseRid('one', number)
    expect(rid).not.toContain('/')
    expect(ridText(ridBytes(rid))).toBe(rid)
    rids.add(rid)
  }
  expect(rids.size).toBe(5000)
  expect(databaseRid('two', 1)).not.toBe(databaseRid('one', 1))
})

// They are in continuations and stored documents: these values may never change.
test('resource ids are what they have always been', () => {
  expect(databaseRid('store', 1)).toBe('faBTfw==')
  expect(collectionRid('AQIDBA==', 1)).toBe('AQIDBIAAAAE=')
})

test("a collection's resource id begins with its database's, and no two of a database are one", () => {
  const database = databaseRid('store', 1)
  const rids = new Set(Array.from({ length: 100 }, (_, n) => collectionRid(database, n + 1)))
  expect(rids.size).toBe(100)
  for (const rid of rids) expect(ridText(ridBytes(rid).subarray(0, 4))).toBe(database)
})
