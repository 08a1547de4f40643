import type { VNode } from 'preact'
import type { GroupRow } from '../../../src/dashboard/views.ts'
import { rate } from '../format.ts'
import { href } from '../route.ts'
import { SeverityText } from '../ui/states.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { ageText, changesText } from './lag-text.ts'

const COLUMNS: readonly Column<GroupRow>[] = [
  {
    key: 'severity',
    title: 'State',
    width: 92,
    cell: ({ severity }) => <SeverityText severity={severity} />,
    by: ({ severity }) => severity,
    isNumber: false,
  },
  {
    key: 'group',
    title: 'Group',
    width: 170,
    grows: true,
    isRowHeader: true,
    cell: ({ group, leases }) => <a href={href(['groups', leases, group])}>{group}</a>,
    by: ({ group }) => group,
  },
  {
    key: 'changes',
    title: 'Lag',
    width: 92,
    isNumber: true,
    cell: changesText,
    by: ({ changes }) => changes,
  },
  {
    key: 'age',
    title: 'Oldest',
    width: 90,
    isNumber: true,
    cell: ageText,
    by: ({ ageMs }) => ageMs,
  },
  {
    key: 'rate',
    title: 'Changes/s',
    width: 98,
    isNumber: true,
    isWideOnly: true,
    cell: ({ changesPerSecond }) => (changesPerSecond === null ? '–' : rate(changesPerSecond)),
    by: ({ changesPerSecond }) => changesPerSecond,
  },
  {
    key: 'ranges',
    title: 'Ranges',
    width: 76,
    isNumber: true,
    isWideOnly: true,
    cell: ({ ranges }) => String(ranges),
    by: ({ ranges }) => ranges,
  },
  {
    key: 'hosts',
    title: 'Hosts',
    width: 70,
    isNumber: true,
    cell: ({ hosts }) => String(hosts),
    by: ({ hosts }) => hosts,
  },
  {
    key: 'collection',
    title: 'Follows',
    width: 160,
    isWideOnly: true,
    cell: ({ collection }) => <CollectionLink path={collection} />,
    by: ({ collection }) => collection,
  },
  {
    key: 'notes',
    title: 'Notes',
    width: 190,
    grows: true,
    cell: ({ notes }) => notes.join(', '),
  },
]

/** Worst first. */
export function GroupsTable(props: {
  readonly groups: readonly GroupRow[]
  readonly maxRows: number
  readonly empty?: string
}): VNode {
  return (
    <Table
      caption="Groups, worst first"
      rows={props.groups}
      columns={COLUMNS}
      maxRows={props.maxRows}
      empty={
        props.empty ?? 'No group has leases in this store. Start a worker, and it appears here.'
      }
    />
  )
}

/** `database/collection` as a link. */
export function CollectionLink({ path }: { readonly path: string | null }): VNode {
  if (path === null) return <span class="muted">not in this store</span>
  return <a href={href(['collections', ...collectionParts(path)])}>{path}</a>
}

/** Names have no slashes. */
export function collectionParts(path: string): readonly [database: string, collection: string] {
  const [database = '', collection = ''] = path.split('/', 2)
  return [database, collection]
}
