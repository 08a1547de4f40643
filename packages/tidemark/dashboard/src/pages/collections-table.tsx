import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import type { CollectionRow, GroupRow } from '../../../src/dashboard/views.ts'
import { duration } from '../format.ts'
import { href } from '../route.ts'
import { Table, type Column } from '../ui/table.tsx'

const NAME: Column<CollectionRow> = {
  key: 'collection',
  title: 'Collection',
  width: 190,
  grows: true,
  isRowHeader: true,
  cell: ({ id, database, collection }) => (
    <a href={href(['collections', database, collection])}>{id}</a>
  ),
  by: ({ id }) => id,
}

const PURPOSES = { leases: 'leases', deadLetters: 'dead letters' } as const

function columns(groups: readonly GroupRow[]): readonly Column<CollectionRow>[] {
  return [
    NAME,
    {
      key: 'key',
      title: 'Partition key',
      width: 160,
      isWideOnly: true,
      cell: ({ partitionKey }) => <span class="mono">{partitionKey.join(', ')}</span>,
    },
    { key: 'ttl', title: 'Default TTL', width: 130, cell: ({ defaultTtl }) => ttlText(defaultTtl) },
    {
      key: 'groups',
      title: 'Followed by',
      width: 180,
      grows: true,
      cell: ({ id, purpose }) =>
        purpose === null ? (
          <GroupLinks groups={groups.filter(({ collection }) => collection === id)} />
        ) : (
          <span class="muted">holds {PURPOSES[purpose]}</span>
        ),
    },
  ]
}

export function CollectionsTable(props: {
  readonly collections: readonly CollectionRow[]
  readonly groups: readonly GroupRow[]
  readonly maxRows: number
}): VNode {
  const shown = useMemo(() => columns(props.groups), [props.groups])
  return (
    <Table
      caption="Collections of all databases"
      rows={props.collections}
      columns={shown}
      maxRows={props.maxRows}
      empty="There are no collections."
    />
  )
}

function GroupLinks({ groups }: { readonly groups: readonly GroupRow[] }): VNode {
  if (groups.length === 0) return <span class="muted">–</span>
  return (
    <>
      {groups.map(({ id, leases, group }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <a href={href(['groups', leases, group])}>{group}</a>
        </span>
      ))}
    </>
  )
}

export function ttlText(defaultTtl: number | null): string {
  if (defaultTtl === null) return 'nothing expires'
  return defaultTtl === -1 ? 'per document' : duration(defaultTtl * 1_000)
}

const SUFFIX = '-deadletters'

const PLACES: readonly Column<CollectionRow>[] = [
  {
    key: 'followed',
    title: 'Dead letters of',
    width: 200,
    grows: true,
    isRowHeader: true,
    cell: (place) => <a href={lettersHref(place)}>{followedBy(place)}</a>,
    by: followedBy,
  },
  {
    key: 'letters',
    title: 'Kept in',
    width: 220,
    grows: true,
    cell: ({ database, collection, id }) => (
      <a href={href(['collections', database, collection])}>{id}</a>
    ),
  },
]

/** Collections that hold dead letters. */
export function LetterPlacesTable(props: {
  readonly places: readonly CollectionRow[]
  readonly maxRows: number
}): VNode {
  return (
    <Table
      caption="Collections with dead letters"
      rows={props.places}
      columns={PLACES}
      maxRows={props.maxRows}
      empty="No collection holds dead letters: no observer has given up on a change."
    />
  )
}

function followedName({ collection }: CollectionRow): string {
  return collection.endsWith(SUFFIX) ? collection.slice(0, -SUFFIX.length) : collection
}

function followedBy(place: CollectionRow): string {
  return `${place.database}/${followedName(place)}`
}

function lettersHref(place: CollectionRow): string {
  const followed = followedName(place)
  const letters = followed === place.collection ? place.collection : undefined
  return href(['letters', place.database, followed], { letters })
}
