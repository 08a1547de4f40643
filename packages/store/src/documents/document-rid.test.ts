import { expect, test } from 'vitest'
import { ridBytes } from '../engine/resource-ids.ts'
import { documentRid } from './document-rid.ts'

const collection = Buffer.from('0102030480000001', 'hex')

test('ST-2 a _rid begins with its collection and depends on the key alone', () => {
  const rids = new Set<string>()
  for (let n = 0; n < 5000; n++) {
    const rid = documentRid(collection, `["p"]\nd${n}`)
    expect(rid).toBe(documentRid(collection, `["p"]\nd${n}`))
    expect(rid).not.toContain('/')
    expect(ridBytes(rid).subarray(0, 8)).toEqual(collection)
    expect(ridBytes(rid).readUInt8(15)).toBeLessThan(0x10)
    rids.add(rid)
  }
  expect(rids.size).toBe(5000)
})

// Not stored apart from the text: another function would give a replaced document another _rid.
test('ST-2 _rid is what it has always been', () => {
  expect(documentRid(collection, '["p"]\na')).toBe('AQIDBIAAAAGD95m9+-WjDg==')
})
