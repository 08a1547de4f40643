import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { GroupView, TransitionRow } from '../../../src/dashboard/views.ts'
import { count, plural } from '../format.ts'
import { nowMs } from '../live/use-view.ts'
import { tokenName } from '../range-name.ts'
import { route, setQuery } from '../route.ts'
import { Card } from '../ui/parts.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { Moment } from '../ui/time.tsx'
import type { Hues } from './hues.ts'
import { rangeHistories } from './ownership-bars.ts'
import { TimelineBars } from './timeline-bars.tsx'
import { TRANSITIONS, TransitionLegend, TransitionMark } from './transitions.tsx'

export interface TimelineCardProps {
  readonly view: GroupView
  readonly hues: Hues
}

const WINDOWS: readonly (readonly [value: string, text: string, ms: number])[] = [
  ['10m', 'last 10 minutes', 600_000],
  ['1h', 'last hour', 3_600_000],
  ['all', 'all that is kept', Number.POSITIVE_INFINITY],
]

/** Who had which range when, and why it moved. */
export function TimelineCard({ view: { head, tables }, hues }: TimelineCardProps): VNode {
  const { query } = route.value
  const form = query.get('timeline') === 'list' ? 'list' : 'bars'
  const chosen = query.get('since') ?? 'all'
  const moved = query.get('ranges') !== 'all'
  const { leases, timeline } = tables
  const histories = useMemo(() => rangeHistories(leases, timeline), [leases, timeline])
  const end = nowMs.value
  const span = WINDOWS.find(([value]) => value === chosen)?.[2] ?? Number.POSITIVE_INFINITY
  const first = timeline[0]?.atMs ?? end - 60_000
  const begin = Math.max(end - span, first - Math.max(1_000, (end - first) * 0.04))
  const transitions = useMemo(
    () => timeline.filter(({ atMs }) => atMs >= begin).toReversed(),
    // The list need not move with the clock.
    [timeline, chosen],
  )
  const shown = moved
    ? histories.filter((range) => range.transitions.some(({ atMs }) => atMs >= begin))
    : histories
  if (!head.hasTimeline) {
    return (
      <Card title="Rebalancing timeline">
        <p class="empty">This lease store keeps no history of transitions.</p>
      </Card>
    )
  }
  return (
    <Card title="Rebalancing timeline" end={<Filters form={form} since={chosen} moved={moved} />}>
      {form === 'bars' ? (
        <>
          <TransitionLegend />
          <TimelineBars
            ranges={shown}
            hues={hues}
            begin={begin}
            end={end}
            label={`Owners of ${plural(shown.length, 'range')} over time, with ${plural(transitions.length, 'transition')}; the list shows each`}
          />
        </>
      ) : (
        <Table
          caption={`Transitions, newest first: ${count(transitions.length)}`}
          rows={transitions}
          columns={COLUMNS}
          maxRows={14}
          empty="Nothing moved in this time."
        />
      )}
    </Card>
  )
}

interface FiltersProps {
  readonly form: 'bars' | 'list'
  readonly since: string
  readonly moved: boolean
}

function Filters({ form, since, moved }: FiltersProps): VNode {
  return (
    <>
      {form === 'bars' && (
        <label class="check">
          <input
            type="checkbox"
            checked={moved}
            onChange={() => setQuery({ ranges: moved ? 'all' : undefined })}
          />
          only ranges that moved
        </label>
      )}
      <select
        aria-label="Time to show"
        value={since}
        onChange={({ currentTarget }) => setQuery({ since: currentTarget.value })}
      >
        {WINDOWS.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      <button
        type="button"
        onClick={() => setQuery({ timeline: form === 'bars' ? 'list' : undefined })}
      >
        {form === 'bars' ? 'Show as list' : 'Show as bars'}
      </button>
    </>
  )
}

const COLUMNS: readonly Column<TransitionRow>[] = [
  {
    key: 'time',
    title: 'Time',
    width: 160,
    cell: ({ atMs }) => <Moment ms={atMs} />,
    by: ({ atMs }) => atMs,
  },
  {
    key: 'kind',
    title: 'What',
    width: 130,
    cell: ({ kind }) => (
      <span class="state">
        <TransitionMark kind={kind} />
        {TRANSITIONS[kind].text}
      </span>
    ),
    by: ({ kind }) => kind,
  },
  {
    key: 'range',
    title: 'Range',
    width: 160,
    isRowHeader: true,
    cell: ({ lease }) =>
      lease === null ? (
        'whole group'
      ) : (
        <span class="mono" title={lease}>
          {tokenName(lease)}
        </span>
      ),
    by: ({ lease }) => lease,
  },
  { key: 'from', title: 'From', width: 120, grows: true, cell: ({ from }) => from ?? '–' },
  { key: 'to', title: 'To', width: 120, grows: true, cell: ({ to }) => to ?? '–' },
]
