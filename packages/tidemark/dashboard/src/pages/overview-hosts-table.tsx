import type { VNode } from 'preact'
import type { OverviewHostRow } from '../../../src/dashboard/views.ts'
import { count } from '../format.ts'
import { href } from '../route.ts'
import { HostStateText } from '../ui/states.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { Age } from '../ui/time.tsx'

const COLUMNS: readonly Column<OverviewHostRow>[] = [
  {
    key: 'state',
    title: 'State',
    width: 98,
    cell: ({ state }) => <HostStateText state={state} />,
    by: ({ state }) => state,
  },
  {
    key: 'host',
    title: 'Host',
    width: 104,
    grows: true,
    isRowHeader: true,
    cell: ({ host }) => host,
    by: ({ host }) => host,
  },
  {
    key: 'group',
    title: 'Group',
    width: 96,
    grows: true,
    cell: ({ leases, group }) => <a href={href(['groups', leases, group])}>{group}</a>,
    by: ({ group }) => group,
  },
  {
    key: 'ranges',
    title: 'Ranges',
    width: 70,
    isNumber: true,
    cell: ({ ranges }) => String(ranges),
    by: ({ ranges }) => ranges,
  },
  {
    key: 'errors',
    title: 'Errors',
    width: 64,
    isNumber: true,
    isWideOnly: true,
    cell: ({ summary }) => (summary === null ? '–' : count(summary.errors ?? 0)),
    by: ({ summary }) => summary?.errors ?? null,
  },
  {
    key: 'heartbeat',
    title: 'Heartbeat',
    width: 88,
    isNumber: true,
    cell: ({ heartbeatMs }) => <Age ms={heartbeatMs} />,
    by: ({ heartbeatMs }) => heartbeatMs,
  },
]

export function OverviewHostsTable(props: {
  readonly hosts: readonly OverviewHostRow[]
  readonly maxRows: number
}): VNode {
  return (
    <Table
      caption="Hosts of all groups"
      rows={props.hosts}
      columns={COLUMNS}
      maxRows={props.maxRows}
      empty="No host is in a group now."
    />
  )
}
