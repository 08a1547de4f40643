import { FULL_RANGE, type Change, type DocumentBody, type FeedMode } from '@tidemark/contracts'
import type { Collection, Database } from '@tidemark/store'
import { openMemoryStore, SimulatedClock } from '@tidemark/testing'
import { MemoryLeaseStore } from '@tidemark/processor'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MigrationStorage } from './migration-storage.ts'
import { migrationWriter } from './migration-writer.ts'
import { openMigrationStorage } from './open-migration-storage.ts'

interface Member extends DocumentBody {
  readonly club: string
  readonly mail: number
  readonly phone: number
  readonly ttl?: number
  /** Of a copy under another id: its document. */
  readonly of?: string
}

/** What happens, in any order: to the source, and to the migration. */
type Step =
  | {
      readonly act: 'put'
      readonly id: number
      readonly mail: number
      readonly phone: number
      readonly expires: boolean
    }
  | { readonly act: 'delete'; readonly id: number }
  /** What has expired becomes a pending delete. */
  | { readonly act: 'wait'; readonly seconds: number }
  /** Another page of that many changes at most is read; or the oldest one that was read, or another one, is applied. */
  | { readonly act: 'read' | 'documents' | 'deletes'; readonly most: number }
  /** The documents are read from the beginning, by another worker. */
  | { readonly act: 'again' }

const IDS = 5

const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        act: fc.constant('put' as const),
        id: fc.nat(IDS - 1),
        mail: fc.nat(IDS),
        phone: fc.nat(IDS),
        expires: fc.boolean(),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ act: fc.constant('delete' as const), id: fc.nat(IDS - 1) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        act: fc.constantFrom('read' as const, 'documents' as const, 'deletes' as const),
        most: fc.integer({ min: 1, max: 4 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('again' as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        act: fc.constant('wait' as const),
        seconds: fc.integer({ min: 1, max: 5 }),
      }),
    },
  ),
  { maxLength: 60, size: 'max' },
)

const owner = { range: FULL_RANGE, epoch: 1, hostName: 'w' }
const NEVER = new AbortController().signal

/** Reads a feed page by page. */
function reader(source: Collection<Member>, mode: FeedMode) {
  const range = FULL_RANGE
  let continuation: string | undefined
  let pages: (readonly Change<Member>[])[] = []
  const read = async (maxItemCount: number): Promise<void> => {
    continuation ??= (await source.resolveStart({ range, start: 'beginning', mode })).continuation
    const pendingDeletes = mode === 'latestVersion'
    const page = await source.readPage({ range, continuation, mode, maxItemCount, pendingDeletes })
    continuation = page.continuation
    if (page.changes.length > 0) pages.push(page.changes)
  }
  return {
    read,
    async next(maxItemCount: number): Promise<readonly Change<Member>[]> {
      if (pages.length === 0) await read(maxItemCount)
      return pages.shift() ?? []
    },
    again(): void {
      continuation = undefined
      pages = []
    },
  }
}

const UNIQUE = { partitionKey: '/club', uniqueKeys: [['/mail'], ['/phone']] }

function openStorage(
  database: Database,
  source: Collection<Member>,
  mapDocument: (member: Member) => Member,
): Promise<MigrationStorage<Member, Member>> {
  const leases = new MemoryLeaseStore()
  return openMigrationStorage<Member, Member>(
    { job: 'j', source, target: { database, id: 'copies' }, leases, mapDocument },
    'migration-j',
  )
}

async function migrated(program: readonly Step[], map: (member: Member) => Member) {
  const clock = new SimulatedClock()
  await using store = await openMemoryStore({ clock, maintenance: 'manual' })
  const database = store.database('db')
  const source = await database.createCollectionIfNotExists<Member>({
    id: 'members',
    defaultTtl: -1,
    pendingDeletes: { retentionSeconds: 3_600 },
    allVersions: { retentionSeconds: 3_600 },
    ...UNIQUE,
  })
  await database.createCollectionIfNotExists<Member>({ id: 'copies', defaultTtl: -1, ...UNIQUE })
  const storage = await openStorage(database, source, map)
  const feeds = {
    documents: reader(source, 'latestVersion'),
    deletes: reader(source, 'allVersions'),
  }
  let writer = migrationWriter(storage, map)
  const apply = async (group: 'documents' | 'deletes', most: number): Promise<number> => {
    const changes = await feeds[group].next(most)
    await writer.apply(changes, { ...owner, group }, NEVER)
    return changes.length
  }
  const wait = async (seconds: number): Promise<void> => {
    await clock.advance(seconds * 1_000)
    await store.runMaintenance()
  }
  for (const step of program) {
    switch (step.act) {
      case 'put': {
        const { id, mail, phone, expires } = step
        const member = { id: `m${id}`, club: 'c', mail, phone, ...(expires && { ttl: 3 }) }
        await source.upsert(member).catch(ignoreConflict)
        break
      }
      case 'delete':
        await source.delete(`m${step.id}`, 'c').catch(ignoreConflict)
        break
      case 'wait':
        await wait(step.seconds)
        break
      case 'again':
        feeds.documents.again()
        writer = migrationWriter(storage, map)
        break
      case 'read':
        await feeds.documents.read(step.most)
        break
      default:
        await apply(step.act, step.most)
    }
  }
  // What expires meanwhile is gone on both sides, or on neither.
  await wait(4)
  for (let left = 1; left > 0;) left = (await apply('documents', 3)) + (await apply('deletes', 3))
  const of = async (collection: Collection<Member>) =>
    (await collection.readDocuments()).documents.map(({ id, mail, phone, of }) => {
      return { id, mail, phone, ...(of !== undefined && { of }) }
    })
  return { source: await of(source), copies: await of(storage.target) }
}

function ignoreConflict(error: unknown): void {
  const code: unknown = Reflect.get(Object(error), 'code')
  expect(['ERR_UNIQUE_KEY', 'ERR_NOT_FOUND']).toContain(code)
}

test('JB-1 values of unique keys that change hands end with the documents that have them', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (program) => {
      const { source, copies } = await migrated(program, (member) => member)
      expect(copies).toEqual(source)
    }),
    { numRuns: 60 },
  )
})

test('the same where several documents want one id: as many copies as ids, each of a document that wants it', async () => {
  const renamed = (member: Member): Member => {
    return { ...member, id: `t${member.phone % 3}`, of: member.id }
  }
  await fc.assert(
    fc.asyncProperty(steps, async (program) => {
      const { source, copies } = await migrated(program, renamed)
      const wanted = source.map(({ mail, phone, id: of }) => ({
        id: `t${phone % 3}`,
        mail,
        phone,
        of,
      }))
      expect(new Set(copies.map(({ id }) => id))).toEqual(new Set(wanted.map(({ id }) => id)))
      for (const copy of copies) expect(wanted).toContainEqual(copy)
    }),
    { numRuns: 60 },
  )
})

test('a value that two documents of the source have stays with the first, and the second fails', async () => {
  await using store = await openMemoryStore()
  const database = store.database('db')
  const { partitionKey } = UNIQUE
  const source = await database.createCollectionIfNotExists<Member>({ id: 'members', partitionKey })
  await database.createCollectionIfNotExists<Member>({ id: 'copies', ...UNIQUE })
  const storage = await openStorage(database, source, (member) => member)
  const writer = migrationWriter<Member, Member>(storage, (member) => member)
  const feed = reader(source, 'latestVersion')
  for (const [phone, id] of ['m0', 'm1'].entries()) {
    await source.upsert({ id, club: 'c', mail: 1, phone })
  }
  const documents = { ...owner, group: 'documents' } as const
  await writer.apply(await feed.next(1), documents, NEVER)
  await expect(writer.apply(await feed.next(1), documents, NEVER)).rejects.toMatchObject({
    cause: { code: 'ERR_UNIQUE_KEY' },
  })
  expect((await storage.target.readDocuments()).documents).toMatchObject([{ id: 'm0' }])
})
