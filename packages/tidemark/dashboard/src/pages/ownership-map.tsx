import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { GroupView, HostRow, LeaseRow } from '../../../src/dashboard/views.ts'
import { count, plural } from '../format.ts'
import { rangeName } from '../range-name.ts'
import { route, setQuery } from '../route.ts'
import { choiceColumn } from '../ui/choice-column.tsx'
import { Icon } from '../ui/icon.tsx'
import { Card } from '../ui/parts.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { hostIcon, leaseLook, LeaseStateText, needsLook } from '../ui/states.tsx'
import { Table, type Column } from '../ui/table.tsx'
import type { Hues } from './hues.ts'
import { ageText, changesText } from './lag-text.ts'

export interface OwnershipMapProps {
  readonly view: GroupView
  readonly hues: Hues
  /** Lease tokens. */
  readonly chosen: ReadonlySet<string>
  readonly setChosen: (chosen: ReadonlySet<string>) => void
}

const HEAD_HEIGHT = 92

/** Ranges × hosts: who has what, and what nobody has. */
export function OwnershipMap({ view, hues, chosen, setChosen }: OwnershipMapProps): VNode {
  const { leases, hosts } = view.tables
  const { query } = route.value
  const show = query.get('show') ?? 'all'
  const find = (query.get('find') ?? '').toLowerCase()
  const rows = useMemo(
    () => leases.filter((lease) => isShown(lease, show) && matches(lease, find)),
    [leases, show, find],
  )
  const columns = useMemo(
    () => [
      choiceColumn({ rows, chosen, setChosen, nameOf }),
      ...FACTS,
      ...hostColumns(hosts, hues),
    ],
    [rows, chosen, setChosen, hosts, hues],
  )
  return (
    <Card
      title="Ownership map"
      end={
        <>
          {chosen.size > 0 && (
            <button type="button" onClick={() => setChosen(new Set())}>
              {plural(chosen.size, 'range')} chosen: clear
            </button>
          )}
          <select
            aria-label="Ranges to show"
            value={show}
            onChange={({ currentTarget }) => setQuery({ show: currentTarget.value })}
          >
            <option value="all">all ranges</option>
            <option value="look">to look at</option>
            <option value="behind">behind</option>
            <option value="nobody">without owner</option>
          </select>
          <SearchBox
            label="Find range or host"
            value={query.get('find') ?? ''}
            onChange={(text) => setQuery({ find: text })}
          />
        </>
      }
    >
      <Table
        caption="Ownership map: ranges, their state and lag, and the hosts that own them"
        class="map"
        headHeight={HEAD_HEIGHT}
        rows={rows}
        columns={columns}
        maxRows={14}
        empty={leases.length === 0 ? 'This group has no leases yet.' : 'No range is like that.'}
      />
    </Card>
  )
}

function isShown(lease: LeaseRow, show: string): boolean {
  if (show === 'look') return needsLook(lease)
  if (show === 'behind') return (lease.changes ?? 0) > 0
  if (show === 'nobody') return lease.owner === null || lease.state === 'orphaned'
  return true
}

function matches({ id, owner, target }: LeaseRow, find: string): boolean {
  return [id, owner, target].some((text) => text?.toLowerCase().includes(find))
}

function nameOf({ from, to }: LeaseRow): string {
  return `range ${rangeName(from, to)}`
}

const FACTS: readonly Column<LeaseRow>[] = [
  {
    key: 'range',
    title: 'Range',
    width: 162,
    isRowHeader: true,
    cell: ({ id, from, to }) => (
      <span class="mono" title={id}>
        {rangeName(from, to)}
      </span>
    ),
    by: ({ from }) => from,
  },
  {
    key: 'state',
    title: 'State',
    width: 104,
    cell: (lease) => <LeaseStateText lease={lease} />,
    by: (lease) => leaseLook(lease).text,
  },
  {
    key: 'changes',
    title: 'Lag',
    width: 76,
    isNumber: true,
    cell: changesText,
    by: ({ changes }) => changes,
  },
  {
    key: 'age',
    title: 'Oldest',
    width: 76,
    isNumber: true,
    isWideOnly: true,
    cell: ageText,
    by: ({ ageMs }) => ageMs,
  },
  {
    key: 'tries',
    title: 'Tries',
    width: 58,
    isNumber: true,
    isWideOnly: true,
    cell: ({ tries }) => (tries === 0 ? '' : <b class="text-warn">{count(tries)}</b>),
    by: ({ tries }) => tries,
  },
  {
    key: 'problem',
    title: 'Problem',
    width: 96,
    isWideOnly: true,
    cell: ({ problem }) => problem ?? '',
  },
]

function hostColumns(hosts: readonly HostRow[], hues: Hues): readonly Column<LeaseRow>[] {
  const width = hosts.length > 10 ? 30 : 46
  const nobody: Column<LeaseRow> = {
    key: 'nobody',
    title: 'nobody',
    header: <HostHead name="nobody" />,
    headerClass: 'host',
    cellClass: 'cell',
    width,
    grows: true,
    cell: (lease) => (isUnowned(lease) ? <Mark lease={lease} tone="own" /> : ''),
  }
  return [
    ...hosts.map((host): Column<LeaseRow> => ({
      key: `host ${host.id}`,
      title: host.id,
      header: <HostHead name={host.id} host={host} />,
      headerClass: 'host',
      cellClass: 'cell',
      width,
      grows: true,
      cell: (lease) => {
        if (lease.owner === host.id && !isUnowned(lease)) {
          return <Mark lease={lease} tone={`owned hue-${hues(host.id)}`} />
        }
        return lease.target === host.id ? <Coming /> : ''
      },
    })),
    nobody,
  ]
}

function isUnowned({ owner, state }: LeaseRow): boolean {
  return owner === null || state === 'orphaned' || state === 'missing'
}

function HostHead({ name, host }: { readonly name: string; readonly host?: HostRow }): VNode {
  return (
    <span class="name" title={host === undefined ? name : `${name}: ${host.state}`}>
      {name}
      {host !== undefined && host.state !== 'live' && (
        <>
          {' '}
          <Icon name={hostIcon(host.state)} />
          <span class="visually-hidden">{host.state}</span>
        </>
      )}
    </span>
  )
}

function Mark({ lease, tone }: { readonly lease: LeaseRow; readonly tone: string }): VNode {
  const look = leaseLook(lease)
  const loud = look.tone === 'warn' || look.tone === 'bad' ? look.tone : ''
  return (
    <span class={`mark ${loud === '' ? tone : loud}`} title={look.text}>
      <Icon name={look.icon} />
      <span class="visually-hidden">{look.text}</span>
    </span>
  )
}

function Coming(): VNode {
  return (
    <span class="mark coming" title="is to get it">
      <Icon name="ring" />
      <span class="visually-hidden">is to get it</span>
    </span>
  )
}
