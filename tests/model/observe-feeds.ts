import {
  FULL_RANGE,
  decodeContinuation,
  rangeContains,
  rangesEqual,
  type FeedMode,
  type FeedRange,
  type VersionChange,
} from '@tidemark/contracts'
import { checkPage, expectDocument, type ModelChange, type ReadPage } from './check-page.ts'
import { Difference, expectSame, expectThat } from './difference.ts'
import type { ModelDocument } from './environment.ts'
import { keyOf, type HistoryEntry, type PendingDelete } from './model-records.ts'
import type { Upkeep } from './perform-upkeep.ts'
import type { Session } from './session.ts'

/**
 * Reads both feeds from the beginning. What only the engine can say, the model learns from them: LSNs of
 * pending deletes, which expired documents were swept, what was purged and trimmed. All of it is judged.
 */
export async function observeFeeds(session: Session, upkeep: Upkeep | undefined): Promise<void> {
  const { model } = session
  const latest = await readAll(session, 'latestVersion')
  learnPendingDeletes(
    session,
    latest.flatMap(({ changes }) => changes),
    upkeep,
  )
  for (const page of latest) checkPage(session, page)
  checkKeyOrder(
    session,
    latest.flatMap(({ changes }) => changes),
  )
  if (model.allVersions === null) return
  const versions = await readAll(session, 'allVersions')
  learnVersions(
    session,
    versions.flatMap(({ changes }) => changes),
    upkeep,
  )
  for (const page of versions) checkPage(session, page)
}

async function readAll(session: Session, mode: FeedMode): Promise<readonly ReadPage[]> {
  const maxItems = session.random.pick([1, 2, 3, 7, 100])
  const pages: ReadPage[] = []
  let positions: readonly { readonly range: FeedRange; readonly lsn: number }[] = [
    { range: FULL_RANGE, lsn: 0 },
  ]
  const options = { from: 'beginning', follow: false, maxItemCount: maxItems, mode } as const
  for await (const page of session.collection.changes(options)) {
    const { range, changes } = page
    const after = decodeContinuation(page.continuation).positions
    const before = positions.find((each) => rangeContains(each.range, range))
    const here = after.find((each) => rangesEqual(each.range, range))
    positions = after
    if (here === undefined || before === undefined) continue
    const [afterLsn, throughLsn] = [before.lsn, here.lsn]
    const { caughtUp } = page
    pages.push({
      mode,
      pendingDeletes: true,
      range,
      afterLsn,
      throughLsn,
      changes,
      maxItems,
      caughtUp,
    })
  }
  return pages
}

function learnPendingDeletes(
  session: Session,
  changes: readonly ModelChange[],
  upkeep: Upkeep | undefined,
): void {
  const { model, commit } = session
  const seen = new Set<number>()
  for (const change of changes) {
    if (change.kind !== 'pendingDelete') continue
    const { lastVersion, lsn } = change
    const { n } = lastVersion
    expectThat(!seen.has(n), () => `the pending delete of version ${n} is there twice (TTL-13)`)
    seen.add(n)
    const document = model.documents.get(keyOf(lastVersion))
    const sweeps = upkeep?.kinds.has('sweep') === true || upkeep?.kinds.has('expiryIndex') === true
    if (sweeps && document?.version.n === n && !model.pending.has(n)) {
      model.expire(document, { lsn, timeMs: model.nowMs, commit })
    }
    const pending = model.pending.get(n)
    if (pending === undefined)
      throw new Difference(`a pending delete of version ${n}, which has none`)
    learnLsn(session, pending, lsn)
  }
  if (upkeep?.isComplete === true) sweepUnseen(session)
  for (const pending of model.pending.values()) {
    if (!seen.has(pending.version.n)) purge(session, pending, upkeep)
  }
}

function learnLsn({ model }: Session, pending: PendingDelete, lsn: number): void {
  const { version } = pending
  pending.lsn ??= lsn
  const entry = model.history
    .get(version.key)
    ?.find(({ operation, of }) => operation === 'expire' && of.n === version.n)
  if (entry !== undefined) entry.lsn ??= lsn
  model.noteLsn(version.epk, lsn)
}

/** Swept and purged by one step, so that nobody saw their pending deletes. */
function sweepUnseen({ model, commit }: Session): void {
  for (const document of model.unswept()) {
    model.expire(document, { lsn: undefined, timeMs: model.nowMs, commit })
  }
}

function purge({ model }: Session, pending: PendingDelete, upkeep: Upkeep | undefined): void {
  const { n, key } = pending.version
  expectThat(
    upkeep?.kinds.has('purge') === true,
    () => `the pending delete of ${key} (version ${n}) is gone, and nothing was purged`,
  )
  expectThat(
    model.mayPurge(pending),
    () => `the pending delete of ${key} (version ${n}) was purged too early (TTL-14)`,
  )
  model.pending.delete(n)
  model.losePending(pending)
}

/** CF-3: by time of change within one partition key value. */
function checkKeyOrder({ model }: Session, changes: readonly ModelChange[]): void {
  const newest = new Map<string, number>()
  for (const change of changes) {
    if (change.kind === 'version') continue
    const document = change.kind === 'document' ? change.document : change.lastVersion
    const commit =
      change.kind === 'document'
        ? model.live(keyOf(document))?.commit
        : model.pending.get(document.n)?.commit
    const before = newest.get(document.pk) ?? 0
    expectThat(
      before <= (commit ?? 0),
      () => `${change.kind} of version ${document.n} comes after a later change of ${document.pk}`,
    )
    newest.set(document.pk, commit ?? 0)
  }
}

function learnVersions(
  session: Session,
  changes: readonly ModelChange[],
  upkeep: Upkeep | undefined,
): void {
  const { model } = session
  const found = new Map<string, VersionChange<ModelDocument>[]>()
  for (const change of changes) {
    if (change.kind !== 'version') continue
    const key = `${String(change.partitionKey)}/${change.id}`
    const list = found.get(key) ?? []
    list.push(change)
    found.set(key, list)
  }
  for (const [key, entries] of model.history) {
    const logged = entries.filter(({ isLogged }) => isLogged)
    const present = found.get(key) ?? []
    found.delete(key)
    const trimmed = Math.max(0, logged.length - present.length)
    for (const entry of logged.slice(0, trimmed)) trim(session, entry, upkeep)
    const kept = logged.slice(trimmed)
    expectSame(`entries of ${key} in the log`, present.length, kept.length)
    for (const [index, entry] of kept.entries()) {
      const change = present[index]
      if (change !== undefined) checkEntry(session, entry, change)
    }
  }
  expectSame('keys in the log that were never written', [...found.keys()], [])
}

function trim({ model }: Session, entry: HistoryEntry, upkeep: Upkeep | undefined): void {
  const { key, index } = entry
  expectThat(
    upkeep?.kinds.has('trimVersions') === true,
    () => `entry ${index} of ${key} is gone from the log, and nothing was trimmed`,
  )
  expectThat(model.mayTrim(entry), () => `entry ${index} of ${key} was trimmed too early (CF-11)`)
  entry.isLogged = false
  model.loseEntry(entry)
}

/** CF-11: what an entry of the log says. */
function checkEntry(
  session: Session,
  entry: HistoryEntry,
  change: VersionChange<ModelDocument>,
): void {
  const { operation, current, previous, commitMs, key, index } = entry
  entry.lsn ??= change.lsn
  const { operationType, timeToLiveExpired, crts, lsn } = change
  const found = [operationType, timeToLiveExpired, crts, lsn]
  const isExpiry = operation === 'expire'
  const wanted = [isExpiry ? 'delete' : operation, isExpiry, commitMs, entry.lsn]
  expectSame(`entry ${index} of ${key} in the log`, found, wanted)
  for (const [image, version] of [
    [change.current, current],
    [change.previous, previous],
  ] as const) {
    expectSame(`images of entry ${index} of ${key}`, image === undefined, version === undefined)
    if (image !== undefined && version !== undefined) expectDocument(session, image, version)
  }
}
