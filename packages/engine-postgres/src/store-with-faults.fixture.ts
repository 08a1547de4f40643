import { errorCode } from '@tidemark/contracts'
import { Store, type Collection, type Database } from '@tidemark/store'
import type { PostgresServer } from '@tidemark/testing/servers'
import type { PostgresEngineOptions } from './options.ts'
import { openPostgresEngine } from './postgres-engine.ts'

export interface Note {
  readonly id: string
  readonly key: string
  readonly text: string
}

/** A store with a few documents in a database of its own, and somebody who does things to that database. */
export interface StoreWithFaults extends AsyncDisposable {
  readonly url: string
  readonly store: Store
  readonly database: Database
  readonly notes: Collection<Note>
  /** Runs statements in the store's database as the superuser. */
  admin(text: string): Promise<Record<string, unknown>[]>
  /** Everything that can be read of the documents, to be compared after a failure. */
  contents(): Promise<readonly unknown[]>
}

export async function openStoreWithFaults(
  server: PostgresServer,
  options: PostgresEngineOptions = {},
): Promise<StoreWithFaults> {
  const url = await server.createDatabase()
  const name = new URL(url).pathname.slice(1)
  const admin = (text: string): Promise<Record<string, unknown>[]> =>
    server.query(text, { database: name })
  const store = await openAt(url, options)
  const database = store.database('faults')
  const notes = await database.createCollectionIfNotExists<Note>({
    id: 'notes',
    partitionKey: '/key',
    allVersions: { retentionSeconds: 3600, previousImages: true },
  })
  for (const key of ['a', 'b', 'c']) await notes.create({ id: 'first', key, text: `of ${key}` })
  return {
    url,
    store,
    database,
    notes,
    admin,
    contents: () => contentsOf(notes),
    [Symbol.asyncDispose]: async () => {
      await store.close()
    },
  }
}

export async function openAt(url: string, options: PostgresEngineOptions = {}): Promise<Store> {
  const engine = await openPostgresEngine({ url, ...options })
  return Store.open({ engine, maintenance: 'manual' })
}

async function contentsOf(notes: Collection<Note>): Promise<readonly unknown[]> {
  const found: unknown[] = [await notes.count()]
  for (const mode of ['latestVersion', 'allVersions'] as const) {
    for await (const page of notes.changes({ from: 'beginning', follow: false, mode })) {
      found.push(...page.changes)
    }
  }
  return found
}

/**
 * Every kind of write, each of which must fail or succeed as a whole. Answers what each came to: `done`, or the code
 * of its error.
 */
export async function writeEachWay({
  database,
  notes,
}: Pick<StoreWithFaults, 'database' | 'notes'>): Promise<Readonly<Record<string, string>>> {
  const text = 'changed'
  const put = (key: string) => ({ kind: 'put', document: { id: 'first', key, text } }) as const
  const ways: Readonly<Record<string, () => Promise<unknown>>> = {
    create: () => notes.create({ id: 'second', key: 'a', text }),
    replace: () => notes.replace({ id: 'first', key: 'a', text }),
    upsert: () => notes.upsert({ id: 'first', key: 'b', text }),
    batch: () =>
      notes.batch('c', [
        { kind: 'upsert', document: { id: 'first', key: 'c', text } },
        { kind: 'create', document: { id: 'third', key: 'c', text } },
      ]),
    atomic: () =>
      database.commitAtomically(
        ['a', 'b', 'c'].map((key) => ({ collection: notes, operation: put(key) })),
      ),
  }
  const outcomes: Record<string, string> = {}
  for (const [name, write] of Object.entries(ways)) {
    outcomes[name] = await write().then(
      () => 'done',
      (error: unknown) => errorCode(error) ?? String(error),
    )
  }
  return outcomes
}

/** What `writeEachWay` answers when all of them fail alike. */
export function allFailedWith(code: string): Readonly<Record<string, string>> {
  return { create: code, replace: code, upsert: code, batch: code, atomic: code }
}

/** What `writeEachWay` answers when nothing is wrong. */
export const ALL_DONE: Readonly<Record<string, string>> = allFailedWith('done')
