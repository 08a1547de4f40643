import { LIVE_ROW } from '@tidemark/contracts'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ScanPosition } from '../engine/document-query.ts'
import { MemorySegment } from './memory-segment.ts'
import { compareKeys, rowKey, type MemoryRow } from './memory-row.ts'
import { SortedRows } from './sorted-rows.ts'

function row(number: number, lsn: number, segment = new MemorySegment<MemoryRow>()): MemoryRow {
  const id = `d${number}`
  const epk = `${number % 3}0`
  const partitionKey = `["p${number % 7}"]`
  return {
    epk,
    partitionKey,
    id,
    lsn,
    kind: LIVE_ROW,
    ts: 0,
    ttl: 0,
    version: { lsn, ts: 0, rid: '', ttl: null, body: '{}' },
    expirySecond: 0,
    segment,
    slot: 0,
  }
}

test('rows stand in key order after any puts and deletes', () => {
  const operation = fc.record({ put: fc.boolean(), number: fc.nat(60) })
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 200 }), fc.nat(60), (operations, from) => {
      const rows = new SortedRows<ScanPosition, MemoryRow>(compareKeys)
      const model = new Map<string, MemoryRow>()
      for (const [lsn, { put, number }] of operations.entries()) {
        const each = row(number, lsn)
        if (put) {
          rows.put(each)
          model.set(rowKey(each), each)
        } else {
          rows.delete(each)
          model.delete(rowKey(each))
        }
      }
      const start = row(from, 0)
      const wanted = [...model.values()]
        .filter((each) => compareKeys(each, start) >= 0)
        .sort(compareKeys)
      expect([...rows.from(start)]).toEqual(wanted)
    }),
  )
})

test('many rows are kept in many chunks, in order', () => {
  const rows = new SortedRows<ScanPosition, MemoryRow>(compareKeys)
  for (let n = 0; n < 20_000; n++) rows.put(row((n * 7919) % 20_000, n))
  for (let n = 0; n < 20_000; n += 2) rows.delete(row(n, 0))
  const all = [...rows.from({ epk: '', partitionKey: '', id: '' })]
  expect(all).toHaveLength(10_000)
  expect(all).toEqual([...all].sort(compareKeys))
})

test('a segment tidies itself up, and positions mean the same after it', () => {
  const segment = new MemorySegment<MemoryRow>()
  const live = new Map<number, MemoryRow>()
  for (let lsn = 1; lsn <= 10_000; lsn++) {
    const number = (lsn * 31) % 50
    const present = live.get(number)
    if (present) segment.remove(present)
    const next = row(number, lsn, segment)
    segment.append(next)
    live.set(number, next)
  }
  expect(segment.slots).toBeLessThan(2100)
  for (const afterLsn of [0, 1, 5000, 9950, 9960, 9999, 10_000]) {
    const seen: number[] = []
    for (let slot = segment.slotAfter(afterLsn); slot < segment.slots; slot++) {
      const each = segment.rowAt(slot)
      if (each) seen.push(each.lsn)
    }
    const wanted = [...live.values()].map(({ lsn }) => lsn).filter((lsn) => lsn > afterLsn)
    expect(seen).toEqual(wanted.sort((a, b) => a - b))
  }
})
