import type { VNode } from 'preact'
import type { CollectionView, HorizonRow, WaitingRow } from '../../../src/dashboard/views.ts'
import { count, duration } from '../format.ts'
import { tokenName } from '../range-name.ts'
import { Card } from '../ui/parts.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { Moment } from '../ui/time.tsx'
import { ttlText } from './collections-table.tsx'

const HORIZONS: readonly Column<HorizonRow>[] = [
  {
    key: 'range',
    title: 'Keys',
    width: 180,
    grows: true,
    isRowHeader: true,
    cell: ({ id }) => (
      <span class="mono" title={id}>
        {tokenName(id)}
      </span>
    ),
  },
  {
    key: 'lsn',
    title: 'Purged up to LSN',
    width: 130,
    isNumber: true,
    cell: ({ lsn }) => count(lsn),
  },
]

const WAITING: readonly Column<WaitingRow>[] = [
  { key: 'group', title: 'Group', width: 150, isRowHeader: true, cell: ({ id }) => id },
  {
    key: 'positions',
    title: 'Positions (range: LSN)',
    width: 240,
    grows: true,
    cell: ({ positions }) =>
      positions.map(({ range, lsn }) => `${tokenName(range)}: ${count(lsn)}`).join(', ') ||
      'none yet',
  },
]

export function ExpiryCards({ view: { head, tables } }: { readonly view: CollectionView }): VNode {
  return (
    <>
      <div class="columns">
        <Card title="Expiry" class="half">
          <div class="body">
            <dl class="facts">
              <dt>Default TTL</dt>
              <dd>{ttlText(head.defaultTtl)}</dd>
              <dt>Documents with an expiry time</dt>
              <dd>{count(head.withExpiry)}</dd>
              <dt>Next expiry</dt>
              <dd>
                <Moment ms={head.nextExpiryMs} />
              </dd>
              <dt>Expired, not swept yet</dt>
              <dd>{count(head.unswept)}</dd>
              <dt>Pending deletes</dt>
              <dd>
                {count(head.pendingDeletes)}, kept for {duration(head.retentionSeconds * 1_000)}
              </dd>
            </dl>
          </div>
        </Card>
        <Card title="What expires from now on" class="half">
          <ExpiringTable view={{ head, tables }} />
        </Card>
      </div>
      <div class="columns">
        <Card title="Waiting groups" class="half">
          <Table
            caption="Groups that pending deletes wait for"
            rows={tables.waiting}
            columns={WAITING}
            maxRows={8}
            empty="No group holds pending deletes back."
          />
        </Card>
        <Card title="Horizons" class="half">
          <Table
            caption="Horizons: what was purged"
            rows={tables.horizons}
            columns={HORIZONS}
            maxRows={8}
            empty="Nothing was purged yet."
          />
        </Card>
      </div>
    </>
  )
}

function ExpiringTable({
  view,
}: {
  readonly view: Pick<CollectionView, 'head' | 'tables'>
}): VNode {
  const { expiring } = view.head
  const most = Math.max(1, ...expiring.map(({ documents }) => documents))
  return (
    <Table
      caption="How many documents expire within some time"
      rows={expiring.map(({ withinSeconds, documents }) => {
        return { id: String(withinSeconds), withinSeconds, documents, share: documents / most }
      })}
      columns={EXPIRING}
      maxRows={6}
      empty="Nothing expires."
    />
  )
}

interface ExpiringRow {
  readonly id: string
  readonly withinSeconds: number
  readonly documents: number
  /** Of the greatest. */
  readonly share: number
}

const EXPIRING: readonly Column<ExpiringRow>[] = [
  {
    key: 'within',
    title: 'Within',
    width: 90,
    isRowHeader: true,
    cell: ({ withinSeconds }) => duration(withinSeconds * 1_000),
  },
  {
    key: 'share',
    title: 'Share',
    width: 140,
    grows: true,
    cell: ({ share }) => (
      <div class="bar-track">
        <div style={{ width: `${share * 100}%` }} />
      </div>
    ),
  },
  {
    key: 'documents',
    title: 'Documents',
    width: 96,
    isNumber: true,
    cell: ({ documents }) => count(documents),
  },
]
