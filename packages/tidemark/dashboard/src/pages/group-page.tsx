import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { GroupRef, GroupView, LeaseRow } from '../../../src/dashboard/views.ts'
import { count, plural, rate } from '../format.ts'
import { useView } from '../live/use-view.ts'
import { href } from '../route.ts'
import { Icon } from '../ui/icon.tsx'
import { Figures, Heading, Waiting } from '../ui/parts.tsx'
import { leaseLook, needsLook } from '../ui/states.tsx'
import { GroupActions } from './group-actions.tsx'
import { CollectionLink } from './groups-table.tsx'
import { useHues } from './hues.ts'
import { HostsTable } from './hosts-table.tsx'
import { ageText, changesText } from './lag-text.ts'
import { LagCharts } from './lag-charts.tsx'
import { OwnershipMap } from './ownership-map.tsx'
import { TimelineCard } from './timeline-card.tsx'

export function GroupPage({ leases, group }: GroupRef): VNode {
  const { view: told, problem } = useView('group', { leases, group })
  const view = useMemo(() => told && withHostsInOrder(told), [told])
  const [chosen, setChosen] = useState<ReadonlySet<string>>(NONE)
  const hues = useHues()
  const crumbs = [{ text: 'Groups', href: href(['groups']) }]
  if (view === undefined) {
    return (
      <>
        <Heading title={group} crumbs={crumbs} />
        <Waiting problem={problem} />
      </>
    )
  }
  const { head } = view
  return (
    <>
      <Heading
        title={group}
        crumbs={crumbs}
        chips={<Chips view={view} />}
        buttons={<GroupActions view={view} chosen={chosen} />}
      />
      <GroupFigures view={view} />
      <p class="muted">
        Follows <CollectionLink path={head.collection} />. Leases in <code>{head.leases}</code>
        {head.durability !== null && `, durability level ${head.durability}`}.
      </p>
      <OwnershipMap view={view} hues={hues} chosen={chosen} setChosen={setChosen} />
      <HostsTable hosts={view.tables.hosts} hues={hues} />
      <LagCharts samples={view.tables.samples} sampleMs={head.sampleMs} />
      <TimelineCard view={view} hues={hues} />
    </>
  )
}

const NONE: ReadonlySet<string> = new Set()

/** As people count: `worker-9` before `worker-10`. */
const NAMES = new Intl.Collator('en', { numeric: true })

function withHostsInOrder(view: GroupView): GroupView {
  const hosts = view.tables.hosts.toSorted((a, b) => NAMES.compare(a.id, b.id))
  return { ...view, tables: { ...view.tables, hosts } }
}

function Chips({ view: { head } }: { readonly view: GroupView }): VNode {
  return (
    <>
      {head.paused && (
        <span class="chip accent">
          <Icon name="pause" />
          paused
        </span>
      )}
      {head.notes.map((note) => (
        <span key={note} class={`chip ${head.severity === 2 ? 'bad' : 'warn'}`}>
          <Icon name={head.severity === 2 ? 'stop' : 'warning'} />
          {note}
        </span>
      ))}
    </>
  )
}

function GroupFigures({ view: { head, tables } }: { readonly view: GroupView }): VNode {
  const states = useMemo(() => countedStates(tables.leases), [tables.leases])
  const troubled = useMemo(() => tables.leases.filter(needsLook).length, [tables.leases])
  const tries = tables.leases.reduce((sum, lease) => sum + lease.tries, 0)
  const errors = tables.hosts.reduce((sum, { summary }) => sum + (summary?.errors ?? 0), 0)
  return (
    <Figures
      figures={[
        { name: 'Lag', value: changesText(head), note: 'changes' },
        { name: 'Oldest change', value: ageText(head) },
        {
          name: 'Throughput',
          value: head.changesPerSecond === null ? '–' : rate(head.changesPerSecond),
        },
        {
          name: 'Ranges',
          value: count(tables.leases.length),
          note: troubled === 0 ? states : `${troubled} to look at`,
        },
        { name: 'Hosts', value: count(tables.hosts.length) },
        {
          name: 'Failed batches',
          value: count(errors),
          note: `${plural(tries, 'try', 'tries')} now`,
        },
      ]}
    />
  )
}

/** The states of leases, the most frequent first. */
function countedStates(leases: readonly LeaseRow[]): string {
  const counts = new Map<string, number>()
  for (const lease of leases) {
    const { text } = leaseLook(lease)
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 2)
    .map(([text, number]) => (number === leases.length ? `all ${text}` : `${number} ${text}`))
    .join(', ')
}
