import type { VNode } from 'preact'
import type { CollectionQuery, CollectionView } from '../../../src/dashboard/views.ts'
import { bytes, count } from '../format.ts'
import { useView } from '../live/use-view.ts'
import { href, route } from '../route.ts'
import { Card, Figures, Heading, Tabs, Waiting } from '../ui/parts.tsx'
import { ttlText } from './collections-table.tsx'
import { DocumentsBrowser } from './documents-browser.tsx'
import { ExpiryCards } from './expiry-cards.tsx'
import { GroupsTable } from './groups-table.tsx'
import { LiveTail } from './live-tail.tsx'
import { RangeTree } from './range-tree.tsx'

const PARTS = [
  [undefined, 'Ranges'],
  ['documents', 'Documents'],
  ['tail', 'Live tail'],
  ['expiry', 'Expiry'],
] as const

export function CollectionPage({ database, collection }: CollectionQuery): VNode {
  const { view, problem } = useView('collection', { database, collection })
  const part = route.value.query.get('part')
  const path = ['collections', database, collection]
  return (
    <>
      <Heading
        title={collection}
        crumbs={[
          { text: 'Collections', href: href(['collections']) },
          { text: database, href: href(['collections'], { find: `${database}/` }) },
        ]}
        buttons={
          <a class="button" href={href(['letters', database, collection])}>
            Dead letters
          </a>
        }
      />
      {view === undefined ? (
        <Waiting problem={problem} />
      ) : (
        <>
          <CollectionFigures view={view} />
          <Tabs
            label="Parts of the collection"
            tabs={PARTS.map(([name, text]) => ({
              text,
              href: href(path, { part: name }),
              isCurrent: name === part,
            }))}
          />
          <Part part={part} view={view} />
        </>
      )}
    </>
  )
}

function CollectionFigures({ view: { head, tables } }: { readonly view: CollectionView }): VNode {
  const live = tables.ranges.filter(({ state }) => state === 'live').length
  const inMinute = head.expiring[0]?.documents ?? 0
  return (
    <Figures
      figures={[
        { name: 'Documents', value: count(head.documents), note: bytes(head.bytes) },
        { name: 'Ranges', value: count(live) },
        { name: 'Partition key', value: <span class="mono">{head.partitionKey.join(', ')}</span> },
        { name: 'Default TTL', value: ttlText(head.defaultTtl) },
        {
          name: 'Pending deletes',
          value: count(head.pendingDeletes),
          note: `${count(inMinute)} expire in a minute`,
        },
        { name: 'All versions', value: head.allVersions ? 'kept' : 'not kept' },
      ]}
    />
  )
}

function Part({ part, view }: { part: string | undefined; view: CollectionView }): VNode {
  const { database, collection } = view.head
  const live = view.tables.ranges.filter(({ state }) => state === 'live')
  switch (part) {
    case 'documents':
      return <DocumentsBrowser database={database} collection={collection} ranges={live} />
    case 'tail':
      return <LiveTail database={database} collection={collection} ranges={live} />
    case 'expiry':
      return <ExpiryCards view={view} />
    default:
      return (
        <>
          <RangeTree ranges={view.tables.ranges} />
          <Card title="Groups that follow it">
            <GroupsTable
              groups={view.tables.groups}
              maxRows={10}
              empty="No group follows this collection."
            />
          </Card>
        </>
      )
  }
}
