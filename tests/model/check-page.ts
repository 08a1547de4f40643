import {
  rangeContainsEpk,
  type Change,
  type FeedMode,
  type FeedRange,
  type Stored,
} from '@tidemark/contracts'
import { expectSame, expectThat } from './difference.ts'
import type { ModelDocument } from './environment.ts'
import type { Version } from './model-records.ts'
import { keyOf } from './model-records.ts'
import type { Session } from './session.ts'

export type ModelChange = Change<ModelDocument>

/** A page of one range, and what it claims to be: everything above one LSN up to another. */
export interface ReadPage {
  readonly mode: FeedMode
  readonly pendingDeletes: boolean
  readonly range: FeedRange
  readonly afterLsn: number
  readonly throughLsn: number
  readonly changes: readonly ModelChange[]
  readonly maxItems: number
  readonly caughtUp: boolean
}

/** What the model has at one place of a feed. */
interface Expected {
  readonly name: string
  readonly lsn: number
}

/** CF-2, CF-7, CF-11: a page holds exactly what the model has between its ends, in order. */
export function checkPage(session: Session, page: ReadPage): void {
  const { range, afterLsn, throughLsn, changes, mode } = page
  const where = (): string =>
    `${mode} page of ${range.minInclusive}-${range.maxExclusive} after ${afterLsn} through ${throughLsn}`
  expectThat(throughLsn >= afterLsn, () => `${where()} goes back`)
  const all = expectedChanges(session, page)
  const expected = all.filter(({ lsn }) => lsn > afterLsn && lsn <= throughLsn)
  expectSame(where(), changes.map(nameOf).toSorted(), expected.map(({ name }) => name).toSorted())
  if (page.caughtUp) {
    const missed = all.filter(({ lsn }) => lsn > throughLsn).map(({ name }) => name)
    expectThat(missed.length === 0, () => `${where()} says caught up, and leaves ${missed.join()}`)
  }
  const lastLsn = changes.at(-1)?.lsn
  const beforeLast = changes.filter(({ lsn }) => lsn !== lastLsn)
  expectThat(
    beforeLast.length < page.maxItems,
    () =>
      `${where()} has LSNs ${changes.map(({ lsn }) => lsn).join()}, more than ${page.maxItems} (CF-7)`,
  )
  checkOrder(changes, where)
  for (const change of changes) checkContent(session, change)
}

function checkOrder(changes: readonly ModelChange[], where: () => string): void {
  for (const [index, { lsn }] of changes.entries()) {
    const before = changes[index - 1]?.lsn ?? 0
    expectThat(before <= lsn, () => `${where()} is not in LSN order`)
  }
}

function expectedChanges(
  { model }: Session,
  { mode, range, pendingDeletes }: ReadPage,
): readonly Expected[] {
  if (mode === 'allVersions') {
    return model
      .logged()
      .filter(({ epk }) => rangeContainsEpk(range, epk))
      .map(({ lsn = 0, operation, of, current, key }) => {
        const name = current === undefined ? `${operation} ${key} ${lsn}` : `${operation} ${of.n}`
        return { name, lsn }
      })
  }
  const live = model
    .liveVersions()
    .filter(({ epk }) => rangeContainsEpk(range, epk))
    .map(({ n, lsn }) => ({ name: `document ${n}`, lsn }))
  if (!pendingDeletes) return live
  const pending = [...model.pending.values()]
    .filter(({ version }) => rangeContainsEpk(range, version.epk))
    .map(({ version, lsn = 0 }) => ({ name: `pendingDelete ${version.n}`, lsn }))
  return [...live, ...pending]
}

/** Names a change as the model does: what happened, and to which version. */
function nameOf(change: ModelChange): string {
  switch (change.kind) {
    case 'document':
      return `document ${change.document.n}`
    case 'pendingDelete':
      return `pendingDelete ${change.lastVersion.n}`
    case 'version':
      return change.current === undefined
        ? `${change.timeToLiveExpired ? 'expire' : 'delete'} ${String(change.partitionKey)}/${change.id} ${change.lsn}`
        : `${change.operationType} ${change.current.n}`
  }
}

function checkContent(session: Session, change: ModelChange): void {
  const { model } = session
  const { lsn } = change
  switch (change.kind) {
    case 'document': {
      const version = expectPresent(model.live(keyOf(change.document)), change.document.n)
      expectDocument(session, change.document, version)
      const second = model.expirySecond(version)
      const wanted = second === undefined ? undefined : second * 1000
      expectSame(`expiresAtMs of ${version.key}`, change.expiresAtMs, wanted)
      return expectSame(`LSN of ${version.key}`, lsn, version.lsn)
    }
    case 'pendingDelete': {
      const { lastVersion, expiredAtMs } = change
      const pending = expectPresent(model.pending.get(lastVersion.n), lastVersion.n)
      expectDocument(session, lastVersion, pending.version)
      expectSame(`expiredAtMs of ${pending.version.key}`, expiredAtMs, pending.expiredAt * 1000)
      expectThat(
        lsn > pending.version.lsn,
        () => `${pending.version.key} expired before it was written`,
      )
      return expectSame(`LSN of the pending delete of ${pending.version.key}`, lsn, pending.lsn)
    }
    case 'version':
      return
  }
}

/** A document as the store gives it. Etags are learned at first sight, and name one version each. */
export function expectDocument(
  { etags }: Session,
  document: Stored<ModelDocument>,
  version: Version,
): void {
  const { n, key, pk, id, ttl, ts, lsn } = version
  const etag = etags.get(n)
  const isSame =
    document.n === n &&
    document.id === id &&
    document.pk === pk &&
    Object.is(document.ttl, ttl) &&
    document._ts === ts &&
    document._lsn === lsn &&
    (etag === undefined || document._etag === etag)
  if (!isSame) {
    const { _rid, _self, ...found } = document
    const wanted = { n, id, pk, ttl, _ts: ts, _lsn: lsn, _etag: etag ?? document._etag }
    expectSame(`document ${key}`, found, wanted)
  }
  if (etag === undefined) etags.set(n, document._etag)
}

function expectPresent<Value>(value: Value | undefined, n: number): Value {
  if (value === undefined) expectSame(`version ${n}`, 'delivered', 'not there')
  // Undefined was thrown for above.
  return value as Value
}
