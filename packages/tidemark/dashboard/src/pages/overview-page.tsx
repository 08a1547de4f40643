import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { GroupRow, OverviewView } from '../../../src/dashboard/views.ts'
import { count, plural } from '../format.ts'
import { useView } from '../live/use-view.ts'
import { route, setQuery } from '../route.ts'
import { Card, Figures, Heading, Notice, Waiting } from '../ui/parts.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { CollectionsTable, LetterPlacesTable } from './collections-table.tsx'
import { GroupsTable } from './groups-table.tsx'
import { OverviewHostsTable } from './overview-hosts-table.tsx'
import { QueuesTable } from './queues-table.tsx'

export type OverviewPart = '' | 'groups' | 'collections' | 'letters' | 'queues'

const TITLES: Readonly<Record<OverviewPart, string>> = {
  '': 'Overview',
  groups: 'Groups',
  collections: 'Collections',
  letters: 'Dead letters',
  queues: 'Queues and topics',
}

/** The overview, or one of its tables as a page of its own. */
export function OverviewPage({ part }: { readonly part: OverviewPart }): VNode {
  const { view, problem } = useView('overview', {})
  return (
    <>
      <Heading title={TITLES[part]} />
      {view === undefined ? (
        <Waiting problem={problem} />
      ) : (
        <>
          <Problems view={view} />
          {part === '' ? <Everything view={view} /> : <OneTable part={part} view={view} />}
        </>
      )}
    </>
  )
}

function Problems({ view: { head, tables } }: { readonly view: OverviewView }): VNode {
  const unreadable = tables.databases.filter(({ problem }) => problem !== null)
  return (
    <>
      {unreadable.map(({ id, problem }) => (
        <Notice key={id} tone="bad">
          Database {id} cannot be read: {problem?.message} <code>{problem?.code}</code>
        </Notice>
      ))}
      {head.problems.map(({ code, message }) => (
        <Notice key={message} tone="warn">
          {message} <code>{code}</code>
        </Notice>
      ))}
      {head.truncated && (
        <Notice>Some lists end after 1,000 rows. What is behind them is not shown.</Notice>
      )}
    </>
  )
}

function Everything({ view: { head, tables } }: { readonly view: OverviewView }): VNode {
  const groups = useMemo(() => worstFirst(tables.groups), [tables.groups])
  const troubled = groups.filter(({ severity }) => severity > 0).length
  const dead = tables.queues.reduce((sum, queue) => sum + (queue.dead ?? 0), 0)
  return (
    <>
      <Figures
        figures={[
          {
            name: 'Groups',
            value: count(head.groups),
            note: troubled === 0 ? 'all fine' : `${troubled} to look at`,
          },
          { name: 'Hosts', value: count(head.hosts) },
          { name: 'Changes left', value: count(sum(groups.map(({ changes }) => changes))) },
          { name: 'Databases', value: count(head.databases) },
          { name: 'Collections', value: count(head.collections) },
          { name: 'Dead messages', value: count(dead) },
        ]}
      />
      <Card title="Groups">
        <GroupsTable groups={groups} maxRows={12} />
      </Card>
      <div class="columns">
        <Card title="Hosts" class="half">
          <OverviewHostsTable hosts={tables.hosts} maxRows={10} />
        </Card>
        <Card title="Queues and topics" class="half">
          <QueuesTable queues={tables.queues} maxRows={10} />
        </Card>
      </div>
      <Card title="Collections">
        <CollectionsTable collections={tables.collections} groups={groups} maxRows={12} />
      </Card>
    </>
  )
}

interface OneTableProps {
  readonly part: Exclude<OverviewPart, ''>
  readonly view: OverviewView
}

function OneTable({ part, view: { tables } }: OneTableProps): VNode {
  const find = route.value.query.get('find') ?? ''
  const groups = useMemo(() => worstFirst(tables.groups), [tables.groups])
  const wanted = <Item extends { readonly id: string }>(rows: readonly Item[]): readonly Item[] =>
    rows.filter(({ id }) => id.toLowerCase().includes(find.toLowerCase()))
  const rows = {
    groups: wanted(groups),
    collections: wanted(tables.collections),
    letters: wanted(tables.collections.filter(({ purpose }) => purpose === 'deadLetters')),
    queues: wanted(tables.queues),
  }
  return (
    <Card
      title={plural(rows[part].length, ...NOUNS[part])}
      end={
        <SearchBox
          label="Find by name"
          value={find}
          onChange={(text) => setQuery({ find: text })}
        />
      }
    >
      {part === 'groups' && <GroupsTable groups={rows.groups} maxRows={30} />}
      {part === 'collections' && (
        <CollectionsTable collections={rows.collections} groups={groups} maxRows={30} />
      )}
      {part === 'letters' && <LetterPlacesTable places={rows.letters} maxRows={30} />}
      {part === 'queues' && <QueuesTable queues={rows.queues} maxRows={30} />}
    </Card>
  )
}

const NOUNS: Readonly<Record<OneTableProps['part'], readonly [string, string]>> = {
  groups: ['group', 'groups'],
  collections: ['collection', 'collections'],
  letters: ['collection with dead letters', 'collections with dead letters'],
  queues: ['queue or topic', 'queues, topics and subscriptions'],
}

function worstFirst(groups: readonly GroupRow[]): readonly GroupRow[] {
  return groups.toSorted(
    (a, b) =>
      b.severity - a.severity ||
      (b.ageMs ?? -1) - (a.ageMs ?? -1) ||
      (b.changes ?? -1) - (a.changes ?? -1) ||
      (a.id < b.id ? -1 : 1),
  )
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0)
}
