import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMemoryStore } from '@tidemark/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { DocumentBody } from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import { type Collection } from '@tidemark/store'
import { archiveDocuments, type ArchiveDocumentsProgress } from './archive-documents.ts'
import type { ArchivedDocument } from './archived-document.ts'
import { jsonLinesSink } from './platform/json-lines-sink.ts'
import { readJsonLines } from './platform/read-json-lines.ts'
import type { Sink } from '../sync/sink.ts'

interface Account extends DocumentBody {
  readonly region: string
  readonly lastSeen: number
}

let folder: string
let store: Store
let source: Collection<Account>

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-tiering-'))
  store = await openMemoryStore()
  source = await store
    .database('db')
    .createCollectionIfNotExists<Account>({ id: 'accounts', partitionKey: '/region' })
  for (let n = 0; n < 100; n += 1) {
    await source.upsert({ id: `a${n}`, region: `r${n % 3}`, lastSeen: n })
  }
})
afterEach(async () => {
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

const inactive = ({ lastSeen }: Account): boolean => lastSeen < 60

async function archived(): Promise<readonly ArchivedDocument<Account>[]> {
  const all: ArchivedDocument<Account>[] = []
  for await (const one of readJsonLines<Account>(folder)) all.push(one)
  return all
}

async function remaining(): Promise<readonly number[]> {
  const { documents } = await source.readDocuments()
  return documents.map(({ lastSeen }) => lastSeen).toSorted((a, b) => a - b)
}

/** The JSON Lines sink with something in between. */
function wrapped(
  change: Partial<Sink<ArchivedDocument<Account>>>,
): Sink<ArchivedDocument<Account>> {
  const sink = jsonLinesSink({ folder })
  return {
    write: (batch, context) => sink.write(batch, context),
    verify: (batch, context) => sink.verify(batch, context),
    ...change,
  }
}

describe('archiveDocuments', () => {
  test('JB-4 moves what the predicate chooses, as it was, and leaves the rest', async () => {
    const before = new Map((await source.readDocuments()).documents.map((one) => [one.id, one]))
    const sink = jsonLinesSink({ folder })
    const report = await archiveDocuments({ source, where: inactive, sink, maxItemCount: 7 })
    expect(report).toEqual({ scanned: 100, archived: 60, removed: 60, changed: 0, unverified: 0 })
    expect(await remaining()).toEqual(Array.from({ length: 40 }, (_, n) => n + 60))
    const moved = await archived()
    expect(moved).toHaveLength(60)
    for (const { id, document, reason, partitionKey } of moved) {
      expect(document).toEqual(before.get(id))
      expect({ reason, partitionKey }).toEqual({ reason: 'chosen', partitionKey: document.region })
    }
  })

  test('JB-4 a document that is written between scan and removal stays, in its new version', async () => {
    const sink = wrapped({
      async verify(batch) {
        await source.upsert({ id: 'a1', region: 'r1', lastSeen: 1_000 })
        await source.delete('a2', 'r2').catch(() => {})
        return batch.map(() => true)
      },
    })
    const report = await archiveDocuments({ source, where: inactive, sink })
    expect(report).toMatchObject({ archived: 60, removed: 58, changed: 2 })
    const { document } = await source.read('a1', 'r1')
    expect(document?.lastSeen).toBe(1_000)
  })

  test('JB-4 what the sink cannot read back stays', async () => {
    const inner = jsonLinesSink({ folder })
    const sink = wrapped({
      write: (batch, context) =>
        inner.write(
          // It garbles one and drops another.
          batch
            .filter(({ id }) => id !== 'a3')
            .map((one) =>
              one.id === 'a4' ? { ...one, document: { ...one.document, lastSeen: -1 } } : one,
            ),
          context,
        ),
      verify: (batch, context) => inner.verify(batch, context),
    })
    const report = await archiveDocuments({ source, where: inactive, sink })
    expect(report).toMatchObject({ archived: 60, removed: 58, unverified: 2 })
    expect(await remaining()).toEqual([3, 4, ...Array.from({ length: 40 }, (_, n) => n + 60)])
  })

  test('a sink that rejects ends it with nothing lost; run again from its continuation it goes on', async () => {
    let writes = 0
    const failing = wrapped({
      async write(batch, context) {
        if (++writes === 3) throw new Error('disk full')
        await jsonLinesSink({ folder }).write(batch, context)
      },
      verify: async (batch) => batch.map(() => true),
    })
    let last: ArchiveDocumentsProgress | undefined
    const run = archiveDocuments({
      source,
      where: inactive,
      sink: failing,
      maxItemCount: 10,
      onProgress: (progress) => {
        last = progress
      },
    })
    await expect(run).rejects.toThrow('disk full')
    const kept = new Set([...(await remaining()), ...(await archived()).map(lastSeenOf)])
    expect(kept.size).toBe(100)

    const sink = jsonLinesSink({ folder })
    const { continuation } = last ?? {}
    expect(continuation).toBeDefined()
    const report = await archiveDocuments({ source, where: inactive, sink, continuation })
    expect(report.scanned).toBe(100 - (last?.scanned ?? 0))
    expect((await archived()).map(lastSeenOf).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 60 }, (_, n) => n),
    )
    expect(await remaining()).toHaveLength(40)
  })

  test('what was archived and not removed is archived again, and read once', async () => {
    const sink = wrapped({ verify: async (batch) => batch.map(() => false) })
    await archiveDocuments({ source, where: inactive, sink })
    await archiveDocuments({ source, where: inactive, sink: jsonLinesSink({ folder }) })
    expect(await archived()).toHaveLength(60)
    expect(await remaining()).toHaveLength(40)
  })

  test('a sink without verify is refused, and so are options out of range; nothing is touched', async () => {
    const blind: Sink<ArchivedDocument<Account>> = { write: async () => {} }
    const wrong = [{ sink: blind }, { maxItemCount: 0 }, { maxConcurrentRemovals: 0 }]
    for (const options of wrong) {
      const sink = jsonLinesSink({ folder })
      await expect(
        archiveDocuments({ source, where: inactive, sink, ...options }),
      ).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
    }
    expect(await remaining()).toHaveLength(100)
  })

  test('an abort ends it with the reason', async () => {
    const sink = jsonLinesSink({ folder })
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(archiveDocuments({ source, where: inactive, sink, signal })).rejects.toThrow(
      'enough',
    )
    expect(await remaining()).toHaveLength(100)
  })
})

function lastSeenOf({ document }: ArchivedDocument<Account>): number {
  return document.lastSeen
}
