import { expect, test } from 'vitest'
import { withUpdate, type AnyView } from './view-state.ts'

const a = { id: 'a', value: 1 }
const b = { id: 'b', value: 2 }
const view: AnyView = {
  atMs: 1,
  head: { paused: false, ranges: 2 },
  tables: { leases: [a, b], hosts: [a] },
}

test('an update changes what it names and leaves the rest the same objects', () => {
  const changed = { id: 'b', value: 3 }
  const next = withUpdate(view, { atMs: 2, head: { paused: true }, rows: { leases: [changed] } })
  expect(next).toEqual({
    atMs: 2,
    head: { paused: true, ranges: 2 },
    tables: { leases: [a, changed], hosts: [a] },
  })
  expect(next.tables['leases']?.[0]).toBe(a)
  expect(next.tables['hosts']).toBe(view.tables['hosts'])
})

test('rows come and go', () => {
  const c = { id: 'c', value: 4 }
  const next = withUpdate(view, { atMs: 2, rows: { leases: [c] }, removed: { leases: ['a'] } })
  expect(next.tables['leases']).toEqual([b, c])
})
