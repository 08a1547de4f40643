import { errorCode } from '@tidemark/contracts'
import type { CollectionRecord } from '@tidemark/store'
import { deadLettersId } from '../../open-dead-letters.ts'
import { problemOf } from '../requests/error-answer.ts'
import type {
  CollectionRow,
  DatabaseRow,
  GroupRef,
  GroupRow,
  OverviewHostRow,
  OverviewView,
  Problem,
  QueueRow,
  Row,
} from '../views.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { groupRows, type GroupRows } from './group-rows.ts'
import { LEASES_ID } from './groups.ts'
import { entityRows } from './queue-rows.ts'

/** Of each list. */
const MOST_ROWS = 1_000
const MOST_GROUPS = 200

export interface LookedAtGroups {
  readonly groups: readonly (GroupRows & { readonly ref: GroupRef })[]
  readonly problems: readonly Problem[]
  readonly isCut: boolean
}

/** All groups as rows, and which of them could not be read. */
export async function lookAtGroups({
  groups,
  sampler,
  clock,
  texts,
}: DashboardContext): Promise<LookedAtGroups> {
  const listed = await groups.list()
  const problems = [...listed.problems]
  const found: (GroupRows & { readonly ref: GroupRef })[] = []
  for (const ref of listed.groups.slice(0, MOST_GROUPS)) {
    try {
      const read = await groups.read(ref)
      const { latest } = sampler.lagOf(ref)
      found.push({ ref, ...groupRows(read, { latest, nowMs: clock.wallMs(), texts }) })
    } catch (error) {
      // It went meanwhile.
      if (errorCode(error) !== 'ERR_NOT_FOUND') problems.push(problemOf(error))
    }
  }
  return { groups: found, problems, isCut: listed.groups.length > MOST_GROUPS }
}

/** `groups`: what was found of them, when the caller looked already. */
export async function readOverview(
  context: DashboardContext,
  { groups, problems, isCut }: LookedAtGroups,
): Promise<OverviewView> {
  const { store, brokers, clock, info } = context
  const databases = (await store.listDatabases()).toSorted(byId)
  const collections = (await store.listCollections())
    .map(({ databaseId, record }) => collectionRow(databaseId, record))
    .sort(byId)
  const ids = new Set(collections.map(({ id }) => id))
  const unreadable: Problem[] = []
  const queues: QueueRow[] = []
  const databaseRows: DatabaseRow[] = []
  for (const { id } of databases.slice(0, MOST_ROWS)) {
    let problem: Problem | null = null
    try {
      const most = MOST_ROWS - queues.length
      queues.push(...(await entityRows(await brokers.of(id), { database: id, most })))
    } catch (error) {
      problem = problemOf(error)
      unreadable.push(problem)
    }
    databaseRows.push({ id, problem })
  }
  const hosts = groups.flatMap(({ ref, hosts: own }) => own.map((host) => hostRow(ref, host)))
  const counts = [databases, collections, hosts, queues]
  return {
    atMs: clock.wallMs(),
    head: {
      ...info,
      databases: databases.length,
      collections: collections.length,
      groups: groups.length,
      hosts: hosts.length,
      problems: [...problems, ...unreadable],
      truncated: isCut || counts.some(({ length }) => length > MOST_ROWS),
    },
    tables: {
      databases: databaseRows,
      collections: collections
        .map((row): CollectionRow => ({ ...row, purpose: purposeOf(row, ids) }))
        .slice(0, MOST_ROWS),
      groups: groups.map(({ row }) => row).sort(worstFirst),
      hosts: hosts.slice(0, MOST_ROWS),
      queues: queues.sort(byId),
    },
  }
}

export function worstFirst(one: GroupRow, other: GroupRow): number {
  return (
    other.severity - one.severity ||
    (other.ageMs ?? -1) - (one.ageMs ?? -1) ||
    (other.changes ?? -1) - (one.changes ?? -1) ||
    (one.id < other.id ? -1 : 1)
  )
}

function byId(one: Row, other: Row): number {
  return one.id < other.id ? -1 : 1
}

function hostRow(
  ref: GroupRef,
  { id, state, ranges, heartbeatMs, summary }: GroupRows['hosts'][number],
): OverviewHostRow {
  const place = `${ref.leases}/${ref.group}/${id}`
  return { id: place, ...ref, host: id, state, ranges, heartbeatMs, summary }
}

function collectionRow(
  database: string,
  { id, definition }: CollectionRecord,
): Omit<CollectionRow, 'purpose'> {
  return {
    id: `${database}/${id}`,
    database,
    collection: id,
    partitionKey: definition.partitionKey.paths,
    defaultTtl: definition.defaultTtl,
  }
}

const DEAD_LETTERS_END = deadLettersId('')

function purposeOf(
  { database, collection }: Omit<CollectionRow, 'purpose'>,
  ids: ReadonlySet<string>,
): CollectionRow['purpose'] {
  if (collection === LEASES_ID) return 'leases'
  const isNamedSo = collection.endsWith(DEAD_LETTERS_END)
  const followed = `${database}/${collection.slice(0, -DEAD_LETTERS_END.length)}`
  return isNamedSo && ids.has(followed) ? 'deadLetters' : null
}
