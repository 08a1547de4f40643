import type { VNode } from 'preact'
import type { QueueRow } from '../../../src/dashboard/views.ts'
import { count } from '../format.ts'
import { href } from '../route.ts'
import { Table, type Column } from '../ui/table.tsx'
import { Age } from '../ui/time.tsx'

type Count = 'active' | 'deferred' | 'scheduled' | 'dead'

function counted(key: Count, title: string, isWideOnly: boolean): Column<QueueRow> {
  return {
    key,
    title,
    width: 76,
    isNumber: true,
    isWideOnly,
    cell: (queue) => {
      const value = queue[key]
      if (value === null) return <span class="muted">–</span>
      return key === 'dead' && value > 0 ? <b class="text-bad">{count(value)}</b> : count(value)
    },
    by: (queue) => queue[key],
  }
}

const COLUMNS: readonly Column<QueueRow>[] = [
  {
    key: 'entity',
    title: 'Name',
    width: 110,
    grows: true,
    isRowHeader: true,
    cell: ({ database, entity }) => (
      <a href={href(['queues', database, entity])} title={`${database}/${entity}`}>
        {entity}
      </a>
    ),
    by: ({ id }) => id,
  },
  {
    key: 'kind',
    title: 'Kind',
    width: 96,
    isWideOnly: true,
    cell: kindText,
    by: ({ kind }) => kind,
  },
  counted('active', 'Active', false),
  counted('deferred', 'Deferred', true),
  { ...counted('scheduled', 'Scheduled', true), width: 84 },
  counted('dead', 'Dead', false),
  {
    key: 'oldest',
    title: 'Oldest',
    width: 88,
    isNumber: true,
    isWideOnly: true,
    cell: ({ oldestMs }) => <Age ms={oldestMs} />,
    by: ({ oldestMs }) => oldestMs,
  },
]

export function QueuesTable(props: {
  readonly queues: readonly QueueRow[]
  readonly maxRows: number
  readonly caption?: string
  readonly empty?: string
}): VNode {
  return (
    <Table
      caption={props.caption ?? 'Queues, topics and subscriptions'}
      rows={props.queues}
      columns={COLUMNS}
      maxRows={props.maxRows}
      empty={props.empty ?? 'There are no queues and topics.'}
    />
  )
}

function kindText({ kind, status }: QueueRow): string {
  return status === 'Active' ? kind : `${kind}, ${status}`
}
