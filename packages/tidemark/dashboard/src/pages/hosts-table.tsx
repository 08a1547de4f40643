import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { HostRow } from '../../../src/dashboard/views.ts'
import { count, duration, plural, rate } from '../format.ts'
import { Card } from '../ui/parts.tsx'
import { HostStateText } from '../ui/states.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { Age } from '../ui/time.tsx'
import type { Hues } from './hues.ts'

export interface HostsTableProps {
  readonly hosts: readonly HostRow[]
  readonly hues: Hues
}

/** The hosts of a group, with what their heartbeats say. */
export function HostsTable({ hosts, hues }: HostsTableProps): VNode {
  const columns = useMemo(() => [nameColumn(hues), ...COLUMNS], [hues])
  return (
    <Card title="Hosts">
      <Table
        caption="Hosts of the group"
        rows={hosts}
        columns={columns}
        maxRows={10}
        empty="No host is in this group now."
      />
    </Card>
  )
}

function nameColumn(hues: Hues): Column<HostRow> {
  return {
    key: 'host',
    title: 'Host',
    width: 150,
    grows: true,
    isRowHeader: true,
    cell: ({ id }) => (
      <span class="state" title={id}>
        <span class={`swatch hue-${hues(id)}`} />
        {id}
      </span>
    ),
    by: ({ id }) => id,
  }
}

type Figure = 'batchP50Ms' | 'batchP99Ms'

function batchTime(key: Figure, title: string): Column<HostRow> {
  return {
    key,
    title,
    width: 84,
    isNumber: true,
    isWideOnly: true,
    cell: ({ summary }) => {
      const value = summary?.[key] ?? null
      return value === null ? '–' : duration(value)
    },
    by: ({ summary }) => summary?.[key] ?? null,
  }
}

const COLUMNS: readonly Column<HostRow>[] = [
  {
    key: 'state',
    title: 'State',
    width: 88,
    cell: ({ state }) => <HostStateText state={state} />,
    by: ({ state }) => state,
  },
  {
    key: 'heartbeat',
    title: 'Heartbeat',
    width: 92,
    isNumber: true,
    cell: ({ heartbeatMs }) => <Age ms={heartbeatMs} />,
    by: ({ heartbeatMs }) => heartbeatMs,
  },
  {
    key: 'ranges',
    title: 'Ranges',
    width: 72,
    isNumber: true,
    cell: ({ ranges, minRanges, maxRanges }) => (
      <span title={limits(minRanges, maxRanges)}>{count(ranges)}</span>
    ),
    by: ({ ranges }) => ranges,
  },
  {
    key: 'rate',
    title: 'Changes/s',
    width: 92,
    isNumber: true,
    cell: ({ summary }) => {
      const value = summary?.changesPerSecond ?? null
      return value === null ? '–' : rate(value)
    },
    by: ({ summary }) => summary?.changesPerSecond ?? null,
  },
  batchTime('batchP50Ms', 'Batch p50'),
  batchTime('batchP99Ms', 'Batch p99'),
  {
    key: 'errors',
    title: 'Errors',
    width: 68,
    isNumber: true,
    cell: ({ summary }) => {
      const errors = summary?.errors ?? null
      if (errors === null) return '–'
      return errors > 0 ? <b class="text-warn">{count(errors)}</b> : '0'
    },
    by: ({ summary }) => summary?.errors ?? null,
  },
  {
    key: 'last',
    title: 'Last error',
    width: 210,
    grows: true,
    isWideOnly: true,
    cell: ({ summary, refuses }) => {
      const { lastError = null, lastErrorMs = null, halted = [] } = summary ?? {}
      return (
        <span title={lastError ?? undefined}>
          {halted.length > 0 && <b class="text-bad">{plural(halted.length, 'range')} halted. </b>}
          {refuses.length > 0 && (
            <b class="text-warn">refuses {plural(refuses.length, 'range')}. </b>
          )}
          {lastError !== null && (
            <>
              <Age ms={lastErrorMs} /> · {lastError}
            </>
          )}
        </span>
      )
    },
  },
]

function limits(min: number, max: number | null): string {
  return `at least ${min}, ${max === null ? 'no limit' : `at most ${max}`}`
}
