import { setTimeout as sleep } from 'node:timers/promises'
import { FULL_RANGE, errorCode, partitionKeyDefinition } from '@tidemark/contracts'
import type {
  CollectionRecord,
  CommitOutcome,
  DatabaseEngine,
  StorageEngine,
} from '@tidemark/store/engine'
import { openSqliteEngine } from './sqlite-engine.ts'

/** What a process is told to do, once it said that it is ready. */
export type ProcessTask = { readonly folder: string } & (
  | { readonly kind: 'create' }
  | {
      readonly kind: 'write'
      readonly name: string
      readonly writers: number
      readonly each: number
    }
  | { readonly kind: 'wait'; readonly commits: number }
  | { readonly kind: 'fill'; readonly bytes: number }
  | { readonly kind: 'leaveOpen' }
  | { readonly kind: 'fence'; readonly epoch: number }
)

export type ProcessMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'waiting' }
  | {
      readonly kind: 'created'
      readonly storeId: string
      readonly databaseRid: string
      readonly collectionRid: string
    }
  | { readonly kind: 'wrote' }
  /** Machine clock at which each commit was seen. */
  | { readonly kind: 'woken'; readonly atMs: readonly number[] }
  | { readonly kind: 'filled'; readonly commits: number; readonly code: string | undefined }
  | { readonly kind: 'left' }
  | { readonly kind: 'fenced'; readonly outcome: CommitOutcome['kind'] }

/** The same in every process of the machine. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

export function commitOne(
  database: DatabaseEngine,
  collection: CollectionRecord,
  {
    id,
    filler = '',
    epoch,
    sync,
  }: {
    readonly id: string
    readonly filler?: string
    readonly epoch?: number
    readonly sync?: boolean | undefined
  },
): Promise<CommitOutcome> {
  const condition = { kind: 'none' } as const
  const body = JSON.stringify({ id, filler })
  const operation = { kind: 'put', id, condition, rid: 'r', body, ttl: 0 } as const
  return database.commit({
    ...(sync === undefined ? {} : { sync }),
    batches: [
      { collection: collection.number, epk: '1A', partitionKey: '["p"]', operations: [operation] },
    ],
    fence: epoch === undefined ? undefined : { job: 'job', range: FULL_RANGE, epoch },
  })
}

/** The database and collection of the tests, made unless another process was faster. */
export async function openCollection(
  engine: StorageEngine,
): Promise<{ readonly database: DatabaseEngine; readonly collection: CollectionRecord }> {
  await engine.createDatabase('db').catch(ignoreExists)
  const database = await engine.openDatabase('db')
  const definition = {
    partitionKey: partitionKeyDefinition('/pk'),
    defaultTtl: null,
    indexingMode: 'consistent',
    pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
    allVersions: null,
    splitAboveBytes: null,
  } as const
  await database.createCollection('coll', definition, [FULL_RANGE]).catch(ignoreExists)
  const collection = await database.readCollection('coll')
  if (collection === undefined) throw new Error('the collection is not there')
  return { database, collection }
}

function ignoreExists(error: unknown): void {
  if (errorCode(error) !== 'ERR_EXISTS') throw error
}

async function carryOut(task: ProcessTask, engine: StorageEngine): Promise<ProcessMessage> {
  const { database, collection } = await openCollection(engine)
  switch (task.kind) {
    case 'create': {
      await commitOne(database, collection, { id: `${process.pid}` })
      const { storeId } = engine
      const databaseRid = database.record.rid
      return { kind: 'created', storeId, databaseRid, collectionRid: collection.rid }
    }
    case 'write': {
      const write = async (writer: number): Promise<void> => {
        for (let n = 0; n < task.each; n++) {
          await commitOne(database, collection, { id: `${task.name}-${writer}-${n}` })
        }
      }
      await Promise.all(Array.from({ length: task.writers }, (_, writer) => write(writer)))
      return { kind: 'wrote' }
    }
    case 'wait': {
      const where = { collection, range: FULL_RANGE }
      const start = { kind: 'now' } as const
      let { lsn } = await database.resolveStart({ ...where, start, mode: 'latestVersion' })
      tell({ kind: 'waiting' })
      const atMs: number[] = []
      const { signal } = new AbortController()
      while (atMs.length < task.commits) {
        await database.waitForCommit({ ...where, afterLsn: lsn, timeoutMs: 20_000, signal })
        const limits = { maxItems: 100, maxChars: 1e6 }
        const page = await database.readFeedPage({ ...where, afterLsn: lsn, ...limits })
        for (const _row of page.rows) atMs.push(machineMs())
        lsn = page.lsn
      }
      return { kind: 'woken', atMs }
    }
    case 'fill': {
      let commits = 0
      try {
        for (;;) {
          const filler = 'x'.repeat(task.bytes)
          await commitOne(database, collection, { id: `d${commits}`, filler })
          commits++
        }
      } catch (error) {
        return { kind: 'filled', commits, code: errorCode(error) }
      }
    }
    case 'leaveOpen':
      await commitOne(database, collection, { id: 'a' })
      return { kind: 'left' }
    case 'fence': {
      const { kind } = await commitOne(database, collection, { id: 'a', epoch: task.epoch })
      return { kind: 'fenced', outcome: kind }
    }
  }
}

function tell(message: ProcessMessage): void {
  process.send?.(message)
}

async function main(): Promise<void> {
  const told = new Promise<ProcessTask>((resolve) => process.once('message', resolve))
  tell({ kind: 'ready' })
  const task = await told
  const engine = await openSqliteEngine({ folder: task.folder })
  tell(await carryOut(task, engine))
  if (task.kind !== 'leaveOpen') await engine.close()
  // The parent's channel would keep this process alive.
  await sleep(0)
  process.disconnect()
}

if (import.meta.main) await main()
