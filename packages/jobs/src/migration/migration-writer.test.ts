import { openMemoryStore } from '@tidemark/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  FULL_RANGE,
  lsn,
  type Change,
  type DocumentBody,
  type DocumentChange,
  type FeedRange,
} from '@tidemark/contracts'
import { type Collection } from '@tidemark/store'
import { rangeProgressKey, type RangeProgress } from '../effectively-once/ledger.ts'
import type { MigrationStorage } from './migration-storage.ts'
import { migrationWriter } from './migration-writer.ts'
import { openMigrationStorage } from './open-migration-storage.ts'
import type { MigrationCounts } from './state-documents.ts'

/*
 * Two writers whose steps are laid against each other: what one has read is old when it commits. Each test
 * shows one condition of a commit; without it the outcome is wrong.
 */

interface Item extends DocumentBody {
  readonly group: string
  readonly name: string
  readonly n: number
}

let source: Collection<Item>
let storage: MigrationStorage<Item, Item>
const byName = (item: Item): Item => ({ ...item, id: item.name })
const owner = { range: FULL_RANGE, epoch: 1, hostName: 'w', group: 'documents' } as const
const [LOW, HIGH]: readonly FeedRange[] = [
  { minInclusive: '', maxExclusive: '20' },
  { minInclusive: '20', maxExclusive: 'FF' },
]
const lowOwner = { ...owner, range: LOW! }
const highOwner = { ...owner, range: HIGH! }
const never = new AbortController().signal

beforeEach(async () => {
  const store = await openMemoryStore()
  const database = store.database('db')
  source = await database.createCollectionIfNotExists<Item>({ id: 's', partitionKey: '/group' })
  storage = await openMigrationStorage<Item, Item>(
    {
      job: 'j',
      hostName: 'w',
      source,
      target: { database, id: 't', partitionKey: '/name' },
      leases: { description: 'none', openGroup: never_, listGroups: async () => [] },
      mapDocument: byName,
    },
    'migration-j',
  )
})

function never_(): Promise<never> {
  return Promise.reject(new Error('there are no leases here'))
}

/** A storage that lets `meanwhile` happen once, after everything was read and before the `nth` commit. */
function interrupted(nth: number, meanwhile: () => Promise<unknown>): MigrationStorage<Item, Item> {
  let commits = 0
  return {
    ...storage,
    async commit(writes, by, signal) {
      commits += 1
      if (commits === nth) await meanwhile()
      return storage.commit(writes, by, signal)
    },
  }
}

test('a page of documents that are too large for one commit is copied in several', async () => {
  const changes: Change<Item>[] = []
  for (let n = 0; n < 40; n++) changes.push(await write(`d${n}`, `name${n}`, n))
  const text = 'x'.repeat(2 * 2 ** 20 - 200)
  const enlarging = (item: Item) => ({ ...byName(item), text })
  const { counts: done } = await migrationWriter(storage, enlarging).apply(changes, owner, never)
  expect(done).toMatchObject({ documents: 40 })
  expect(await storage.target.count()).toBe(40)
})

async function write(id: string, name: string, n: number): Promise<Change<Item>> {
  const { document } = await source.upsert({ id, group: id, name, n })
  return {
    kind: 'document',
    id,
    partitionKey: id,
    lsn: lsn(document._lsn),
    committedAtMs: 0,
    document,
  }
}

async function counts(): Promise<{
  readonly progress: RangeProgress<MigrationCounts> | undefined
}> {
  const { id, partition } = rangeProgressKey(owner)
  const { document } = await storage.progress.read(id, partition)
  return { progress: document }
}

async function copies(): Promise<readonly string[]> {
  const { documents } = await storage.target.readDocuments()
  return documents.map(({ name, group, n }) => `${name}:${group}:${n}`).sort()
}

describe('migrationWriter', () => {
  test('a version that another worker has overtaken since it was looked up is not written over the newer one', async () => {
    const old = await write('a', 'x', 1)
    const newer = await write('a', 'x', 2)
    const other = migrationWriter(storage, byName)
    // Different ranges, as after a split, so that no count of the range stands in the way.
    const late = migrationWriter(
      interrupted(1, () => other.apply([newer], highOwner, never)),
      byName,
    )
    const applied = await late.apply([old], lowOwner, never)
    expect(await copies()).toEqual(['x:a:2'])
    expect(applied.replays).toBe(1)
  })

  // A writer guesses first, then looks its documents up; when a key is taken, a third try looks at all.
  test.each([1, 2])(
    'a document that joins the queue for a key while it is being left (try %i) is not forgotten',
    async (nth) => {
      const writer = migrationWriter(storage, byName)
      await writer.apply([await write('a', 'x', 1)], lowOwner, never)
      const second = await write('b', 'x', 2)
      const moved = await write('a', 'y', 3)
      const other = migrationWriter(storage, byName)
      const leaving = migrationWriter(
        interrupted(nth, () => other.apply([second], highOwner, never)),
        byName,
      )
      await leaving.apply([moved], lowOwner, never)
      expect(await copies()).toEqual(['x:b:2', 'y:a:3'])
    },
  )

  test.each([1, 2, 3])(
    'a key that is left while a document is about to queue for it (try %i) goes to that document',
    async (nth) => {
      const writer = migrationWriter(storage, byName)
      await writer.apply([await write('a', 'x', 1)], lowOwner, never)
      const second = await write('b', 'x', 2)
      const moved = await write('a', 'y', 3)
      const queueing = migrationWriter(
        interrupted(nth, () => writer.apply([moved], lowOwner, never)),
        byName,
      )
      await queueing.apply([second], highOwner, never)
      expect(await copies()).toEqual(['x:b:2', 'y:a:3'])
    },
  )

  test.each([1, 2])(
    'a key that another document takes between plan and commit (try %i) stays with that one until it leaves',
    async (nth) => {
      const first = await write('a', 'x', 1)
      const second = await write('b', 'x', 2)
      const other = migrationWriter(storage, byName)
      const late = migrationWriter(
        interrupted(nth, () => other.apply([second], highOwner, never)),
        byName,
      )
      // Known already, so that one try looks it up first.
      if (nth === 2) await late.apply([await write('c', 'z', 3)], lowOwner, never)
      await late.apply([first], lowOwner, never)
      expect(await copies()).toEqual(nth === 2 ? ['x:b:2', 'z:c:3'] : ['x:b:2'])
      await other.apply([await write('b', 'y', 4)], highOwner, never)
      expect(await copies()).toContain('x:a:1')
      expect(await copies()).toContain('y:b:4')
    },
  )

  test('two documents that queue at the same moment are both kept', async () => {
    const writer = migrationWriter(storage, byName)
    await writer.apply([await write('a', 'x', 1)], lowOwner, never)
    const second = await write('b', 'x', 2)
    const third = await write('c', 'x', 3)
    const queueing = migrationWriter(
      interrupted(3, () => writer.apply([third], lowOwner, never)),
      byName,
    )
    await queueing.apply([second], highOwner, never)
    await writer.apply([await write('a', 'y', 4)], lowOwner, never)
    expect(await copies()).toEqual(['x:c:3', 'y:a:4'])
    await writer.apply([await write('c', 'z', 5)], lowOwner, never)
    expect(await copies()).toEqual(['x:b:2', 'y:a:4', 'z:c:5'])
  })

  test('a document that wanted another key for a moment, when its turn came, waits again for the one that it wants', async () => {
    const writer = migrationWriter(storage, byName)
    const first = await write('a', 'x', 1)
    await writer.apply([first, await write('b', 'x', 2)], owner, never)
    await write('b', 'z', 3)
    await writer.apply([await write('a', 'y', 4), await write('c', 'x', 5)], owner, never)
    expect(await copies()).toEqual(['x:c:5', 'y:a:4'])
    await writer.apply([await write('b', 'x', 6)], owner, never)
    await writer.apply([await write('c', 'v', 7)], owner, never)
    expect(await copies()).toEqual(['v:c:7', 'x:b:6', 'y:a:4'])
    const { progress } = await counts()
    expect(progress).toMatchObject({ collisions: 1, collisionsResolved: 1 })
  })

  test('a document that is passed over at the moment in which its newer version is planned is not forgotten', async () => {
    const writer = migrationWriter(storage, byName)
    await writer.apply([await write('a', 'x', 1), await write('b', 'x', 2)], owner, never)
    await write('b', 'z', 3)
    const planned = Promise.withResolvers<void>()
    const passedOver = Promise.withResolvers<void>()
    const late = migrationWriter(
      interrupted(3, () => {
        planned.resolve()
        return passedOver.promise
      }),
      byName,
    )
    let returning: Promise<unknown> | undefined
    // It has read that b wants another key. Now b comes back, and is planned to go on waiting.
    const leaving = migrationWriter(
      interrupted(2, async () => {
        returning = late.apply([await write('b', 'x', 4)], highOwner, never)
        await planned.promise
      }),
      byName,
    )
    await leaving.apply([await write('a', 'y', 5)], lowOwner, never)
    passedOver.resolve()
    await returning
    expect(await copies()).toEqual(['x:b:4', 'y:a:5'])
  })

  test('a document that goes on waiting while it is about to be passed over is not forgotten', async () => {
    const writer = migrationWriter(storage, byName)
    await writer.apply([await write('a', 'x', 1), await write('b', 'x', 2)], owner, never)
    await write('b', 'z', 3)
    const other = migrationWriter(storage, byName)
    // It has read that b wants another key. Before it commits, b is back and waits on.
    const leaving = migrationWriter(
      interrupted(2, async () => other.apply([await write('b', 'x', 4)], highOwner, never)),
      byName,
    )
    await leaving.apply([await write('a', 'y', 5)], lowOwner, never)
    expect(await copies()).toEqual(['x:b:4', 'y:a:5'])
  })

  test('LE-11 a worker whose epoch is behind is refused, whatever it wants to write', async () => {
    const writer = migrationWriter(storage, byName)
    const change = await write('a', 'x', 1)
    await writer.apply([change], { ...owner, epoch: 5 }, never)
    const fresh = await write('b', 'y', 2)
    await expect(writer.apply([fresh], { ...lowOwner, epoch: 4 }, never)).rejects.toMatchObject({
      code: 'ERR_FENCED_WRITE',
      currentEpoch: 5,
    })
    expect(await copies()).toEqual(['x:a:1'])
  })

  test('LE-11 a document that expired before anything of it was copied stays away, although an earlier owner was about to copy it', async () => {
    const change = await write('a', 'x', 1)
    const gone: Change<Item> = {
      kind: 'pendingDelete',
      id: 'a',
      partitionKey: 'a',
      lsn: lsn(change.lsn + 1),
      committedAtMs: 0,
      expiredAtMs: 1_000,
      lastVersion: (change as DocumentChange<Item>).document,
    }
    const other = migrationWriter(storage, byName)
    const late = migrationWriter(
      interrupted(1, () => other.apply([gone], { ...highOwner, epoch: 2 }, never)),
      byName,
    )
    await expect(late.apply([change], { ...owner, epoch: 1 }, never)).rejects.toMatchObject({
      code: 'ERR_FENCED_WRITE',
      currentEpoch: 2,
    })
    expect(await copies()).toEqual([])
  })

  test('an owner is fenced once: what it leaves out afterwards costs no commit', async () => {
    const gone = async (id: string): Promise<Change<Item>> => {
      const change = (await write(id, id, 1)) as DocumentChange<Item>
      const { document: lastVersion, ...rest } = change
      return { ...rest, kind: 'pendingDelete', lastVersion, expiredAtMs: 1_000 }
    }
    let commits = 0
    const writer = migrationWriter<Item, Item>(
      {
        ...storage,
        commit: (writes, by, signal) => {
          commits += 1
          return storage.commit(writes, by, signal)
        },
      },
      byName,
    )
    for (const id of ['a', 'b', 'c']) await writer.apply([await gone(id)], owner, never)
    expect(commits).toBe(1)
    await writer.apply([await gone('d')], { ...owner, epoch: 2 }, never)
    expect(commits).toBe(2)
  })

  test('a large page is written in several commits, none of them above the bound', async () => {
    const changes: Change<Item>[] = []
    for (let n = 0; n < 700; n += 1) changes.push(await write(`d${n}`, `n${n}`, n))
    const sizes: number[] = []
    const writer = migrationWriter<Item, Item>(
      {
        ...storage,
        commit: (writes, by, signal) => {
          sizes.push(writes.length)
          return storage.commit(writes, by, signal)
        },
      },
      byName,
    )
    const { counts } = await writer.apply(changes, owner, never)
    expect(counts.documents).toBe(700)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(501)
    expect(sizes.length).toBe(3)
    await writer.apply(changes, owner, never)
    expect(await copies()).toHaveLength(700)
  })
})
