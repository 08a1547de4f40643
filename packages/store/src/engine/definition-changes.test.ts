import { partitionKeyDefinition } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import type { CollectionDefinition, CollectionRecord, DatabaseRecord } from './catalog.ts'
import { annotatedDatabase, changedRecord, type DefinitionChanges } from './definition-changes.ts'
import { recordEtag } from './resource-ids.ts'

const RID = 'AQIDBIAAAAE='
const definition: CollectionDefinition = {
  partitionKey: partitionKeyDefinition('/pk'),
  defaultTtl: 5,
  indexingMode: 'lazy',
  pendingDeletes: { retentionSeconds: 7, waitFor: ['group'] },
  allVersions: { retentionSeconds: 9, previousImages: true },
  splitAboveBytes: 1000,
  annotation: 'text',
  uniqueKeys: [['/a']],
}
const record: CollectionRecord = {
  id: 'items',
  number: 1,
  rid: RID,
  definition,
  ttlEras: [],
  etag: recordEtag(RID, 100),
  ts: 100,
}

test('a change changes what it names, and nothing else', () => {
  const all: Required<DefinitionChanges> = {
    defaultTtl: null,
    indexingMode: 'consistent',
    pendingDeletes: { retentionSeconds: 8, waitFor: [] },
    allVersions: null,
    splitAboveBytes: null,
    annotation: '',
  }
  expect(changedRecord(record, {}, 100_000).definition).toEqual(definition)
  for (const [name, value] of Object.entries(all)) {
    const after = changedRecord(record, { [name]: value }, 100_000)
    expect(after.definition).toEqual({ ...definition, [name]: value })
  }
})

test('TTL-18 past values are kept, oldest first, and only a change of the default makes one', () => {
  const off = changedRecord(record, { defaultTtl: null }, 101_500)
  const on = changedRecord(off, { defaultTtl: 60 }, 102_500)
  const same = changedRecord(on, { defaultTtl: 60, indexingMode: 'consistent' }, 103_500)
  expect(same.ttlEras).toEqual([
    { defaultTtl: 5, untilMs: 101_500 },
    { defaultTtl: null, untilMs: 102_500 },
  ])
})

test('every change gives another etag, within one second and with the clock behind too', () => {
  let present = record
  const etags = new Set([present.etag])
  for (const nowMs of [100_000, 100_999, 50_000, 101_000]) {
    present = changedRecord(present, { annotation: `at ${nowMs}` }, nowMs)
    etags.add(present.etag)
  }
  expect(etags.size).toBe(5)
  expect(present.ts).toBe(101)
  expect(changedRecord(record, {}, 200_000).etag).toBe(recordEtag(RID, 200))
})

test('TTL-10 a collection with time to live cannot do without an index, whichever comes last', () => {
  const refused = expect.objectContaining({ code: 'ERR_INVALID_OPTION' })
  const change = (changes: DefinitionChanges, of = record): CollectionRecord =>
    changedRecord(of, changes, 100_000)
  expect(() => change({ indexingMode: 'none' })).toThrow(refused)
  const unindexed = change({ indexingMode: 'none', defaultTtl: null })
  expect(() => change({ defaultTtl: -1 }, unindexed)).toThrow(refused)
})

test("a database's annotation changes only for the etag that it has", () => {
  const rid = 'AQIDBA=='
  const database: DatabaseRecord = { id: 'db', rid, etag: recordEtag(rid, 100), ts: 100 }
  const annotate = (ifMatch: string | undefined): DatabaseRecord =>
    annotatedDatabase(database, 'new', { nowMs: 100_999, ifMatch })
  const changed = { id: 'db', rid, annotation: 'new', etag: recordEtag(rid, 101), ts: 100 }
  expect(annotate(undefined)).toEqual(changed)
  expect(annotate(database.etag)).toEqual(changed)
  expect(() => annotate(changed.etag)).toThrow(
    expect.objectContaining({ code: 'ERR_PRECONDITION_FAILED' }),
  )
})
