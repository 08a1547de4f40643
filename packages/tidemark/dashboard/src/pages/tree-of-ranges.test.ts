import { expect, test } from 'vitest'
import type { RangeRow } from '../../../src/dashboard/views.ts'
import { treeOf } from './tree-of-ranges.ts'

function gone(id: string, parents: readonly string[]): RangeRow {
  return {
    id,
    state: 'gone',
    parents,
    from: null,
    to: null,
    documents: null,
    bytes: null,
    newestLsn: null,
  }
}
function live(
  id: string,
  parents: readonly string[],
  keys: readonly [string, string],
  documents: number,
): RangeRow {
  return { ...gone(id, parents), state: 'live', from: keys[0], to: keys[1], documents }
}

test('children stand below what they were split off, in the order of their keys; a merged range below its first parent', () => {
  const rows = treeOf([
    gone('0', []),
    gone('2', ['0']),
    gone('3', ['2']),
    live('4', ['2'], ['4', '8'], 1),
    gone('1', ['0']),
    live('5', ['1', '3'], ['', '4'], 3),
  ])
  const shown = rows.map(({ id, depth, isMerge, share }) => [id, depth, isMerge, share])
  expect(shown).toEqual([
    ['0', 0, false, null],
    ['1', 1, false, null],
    ['5', 2, true, 0.75],
    ['2', 1, false, null],
    ['3', 2, false, null],
    ['4', 2, false, 0.25],
  ])
})
