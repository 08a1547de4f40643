import type { Stored } from '@tidemark/contracts'
import { expectDocument } from './check-page.ts'
import { expectSame, expectThat } from './difference.ts'
import type { ModelDocument } from './environment.ts'
import { keyOf, type Version } from './model-records.ts'
import { IDS, PARTITION_KEYS } from './program.ts'
import type { Session } from './session.ts'

/** Compares everything but the feeds: documents one by one and in scans, counts, ranges, `check()`. */
export async function compareState(session: Session): Promise<void> {
  expectSame('check()', await session.stage.check(session.via), [])
  await compareRanges(session)
  await compareReads(session)
  await compareScans(session)
  await compareExpiry(session)
}

async function compareReads(session: Session): Promise<void> {
  const { model, collection } = session
  for (const pk of PARTITION_KEYS) {
    for (const id of IDS) {
      const { document, serverTimeMs } = await collection.read(id, pk)
      const version = model.live(keyOf({ pk, id }))
      expectSame(`n of ${pk}/${id}, read`, document?.n, version?.n)
      if (document && version) expectDocument(session, document, version)
      expectSame("the store's clock", serverTimeMs, model.nowMs)
    }
  }
}

async function compareScans(session: Session): Promise<void> {
  const { model, collection, random } = session
  const versions = model.liveVersions().toSorted(byScanOrder)
  expectSame('count', await collection.count(), versions.length)
  const documents: Stored<ModelDocument>[] = []
  let continuation: string | undefined
  do {
    const maxItemCount = random.pick([1, 2, 5, 100])
    const page = await collection.readDocuments({ continuation, maxItemCount })
    expectThat(page.documents.length <= maxItemCount, () => 'a page of a scan is too large (ST-8)')
    documents.push(...page.documents)
    continuation = page.continuation
  } while (continuation !== undefined)
  compareLists(session, 'scan', { documents, versions })
  const pk = random.pick(PARTITION_KEYS)
  const partition = await collection.readPartition(pk)
  compareLists(session, `partition ${pk}`, {
    documents: partition.documents,
    versions: versions.filter((version) => version.pk === pk),
  })
}

function compareLists(
  session: Session,
  what: string,
  {
    documents,
    versions,
  }: {
    readonly documents: readonly Stored<ModelDocument>[]
    readonly versions: readonly Version[]
  },
): void {
  expectSame(
    `versions in the ${what}`,
    documents.map(({ n }) => n),
    versions.map(({ n }) => n),
  )
  for (const [index, version] of versions.entries()) {
    const document = documents[index]
    if (document !== undefined) expectDocument(session, document, version)
  }
}

function byScanOrder(a: Version, b: Version): number {
  if (a.epk !== b.epk) return a.epk < b.epk ? -1 : 1
  return a.id < b.id ? -1 : 1
}

/** ST-1, ST-7: pkranges cover every key once. */
async function compareRanges({ model, collection, random }: Session): Promise<void> {
  const found: { id: string; minInclusive: string; maxExclusive: string }[] = []
  let continuation: string | undefined
  do {
    const maxItemCount = random.pick([1, 2, 100])
    const page = await collection.readPartitionKeyRanges({ maxItemCount, continuation })
    for (const { id, minInclusive, maxExclusive } of page.ranges) {
      found.push({ id, minInclusive, maxExclusive })
    }
    continuation = page.continuation
  } while (continuation !== undefined)
  expectSame(
    'pkranges',
    found,
    model.ranges.map(({ id, minInclusive, maxExclusive }) => ({ id, minInclusive, maxExclusive })),
  )
  const ends = ['', ...found.map(({ maxExclusive }) => maxExclusive)]
  const begins = [...found.map(({ minInclusive }) => minInclusive), 'FF']
  expectSame('ends of pkranges', ends, begins)
}

async function compareExpiry({ model, collection }: Session): Promise<void> {
  const view = await collection.readExpiry({ withinSeconds: [1, 5] })
  expectSame('pending deletes in the view of expiry', view.pendingDeletes, model.pending.size)
  if (view.isReindexing) return
  const left = model.liveVersions().flatMap((version) => {
    const second = model.expirySecond(version)
    return second === undefined ? [] : [second * 1000 - model.nowMs]
  })
  const { withExpiry, unswept, nextExpiryMs } = view
  expectSame(
    'the view of expiry',
    { withExpiry, unswept, nextExpiryMs },
    {
      withExpiry: left.length,
      unswept: model.unswept().length,
      nextExpiryMs: model.nextExpiryMs(),
    },
  )
  expectSame(
    'what expires within 1 and 5 seconds',
    view.expiring,
    [1, 5].map((seconds) => left.filter((ms) => ms <= seconds * 1000).length),
  )
}

/** A reader that begins by time gets at least everything of that second and later (CF-6). */
export async function readFromTime(session: Session, agoSeconds: number): Promise<void> {
  const { model, collection } = session
  const timeMs = model.nowMs - agoSeconds * 1000
  const second = Math.floor(timeMs / 1000)
  const start = { from: dateOf(timeMs), follow: false, maxItemCount: 3 } as const
  const seen = new Set<number>()
  for await (const { changes } of collection.changes(start)) {
    for (const change of changes) {
      if (change.kind === 'document') seen.add(change.document.n)
      if (change.kind === 'pendingDelete') seen.add(-change.lastVersion.n)
    }
  }
  const wanted = [
    ...model.liveVersions().flatMap(({ n, ts }) => (ts >= second ? [n] : [])),
    ...[...model.pending.values()].flatMap(({ version, ts }) => (ts >= second ? [-version.n] : [])),
  ]
  const missed = wanted.filter((n) => !seen.has(n))
  expectSame(`versions since ${agoSeconds} s ago that a reader by time missed`, missed, [])
}

function dateOf(timeMs: number): Date {
  // A moment of the program's own clock.
  return new Date(timeMs)
}
