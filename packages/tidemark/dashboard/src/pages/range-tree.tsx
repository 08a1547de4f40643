import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { RangeRow } from '../../../src/dashboard/views.ts'
import { bytes, count } from '../format.ts'
import { rangeName } from '../range-name.ts'
import { Icon } from '../ui/icon.tsx'
import { Card } from '../ui/parts.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { treeOf, type TreeRow } from './tree-of-ranges.ts'

const INDENT = 18

const COLUMNS: readonly Column<TreeRow>[] = [
  {
    key: 'id',
    title: 'Range',
    width: 220,
    grows: true,
    isRowHeader: true,
    cell: ({ range, depth, isMerge }) => (
      <span class="state" style={{ paddingLeft: `${depth * INDENT}px` }}>
        {range.parents.length > 0 && <Icon name={isMerge ? 'join' : 'split'} />}
        <b>{range.id}</b>
        {range.state === 'gone' && <span class="muted">gone</span>}
        {isMerge && <span class="muted">merged from {range.parents.join(' and ')}</span>}
        {range.parents.length === 1 && <span class="muted">split off {range.parents[0]}</span>}
      </span>
    ),
  },
  {
    key: 'keys',
    title: 'Keys',
    width: 160,
    cell: ({ range: { from, to } }) =>
      from === null ? (
        <span class="muted">–</span>
      ) : (
        <span class="mono" title={`${from}-${to}`}>
          {rangeName(from, to)}
        </span>
      ),
  },
  {
    key: 'share',
    title: 'Share of documents',
    width: 130,
    isWideOnly: true,
    cell: ({ share }) =>
      share === null ? (
        ''
      ) : (
        <div class="bar-track" title={`${Math.round(share * 100)} %`}>
          <div style={{ width: `${share * 100}%` }} />
        </div>
      ),
  },
  {
    key: 'documents',
    title: 'Documents',
    width: 92,
    isNumber: true,
    cell: ({ range }) => (range.documents === null ? '–' : count(range.documents)),
  },
  {
    key: 'bytes',
    title: 'Size',
    width: 84,
    isNumber: true,
    cell: ({ range }) => (range.bytes === null ? '–' : bytes(range.bytes)),
  },
  {
    key: 'lsn',
    title: 'Newest LSN',
    width: 96,
    isNumber: true,
    isWideOnly: true,
    cell: ({ range }) => (range.newestLsn === null ? '–' : count(range.newestLsn)),
  },
]

/** Splits and merges as a tree: below each range those that it was split into. */
export function RangeTree({ ranges }: { readonly ranges: readonly RangeRow[] }): VNode {
  const rows = useMemo(() => treeOf(ranges), [ranges])
  return (
    <Card title="Ranges, by splits and merges">
      <Table
        caption="Tree of ranges, with their sizes"
        rows={rows}
        columns={COLUMNS}
        maxRows={18}
        empty="There are no ranges."
      />
    </Card>
  )
}
