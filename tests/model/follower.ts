import { rangeContainsEpk, type FeedRange } from '@tidemark/contracts'
import type { ModelChange } from './check-page.ts'
import { expectSame, expectThat } from './difference.ts'
import { epkOf } from './model.ts'
import { keyOf } from './model-records.ts'
import type { FollowerKind } from './program.ts'
import type { ReaderPosition } from './reader-position.ts'
import type { Session } from './session.ts'

/** A document as a follower holds it. */
interface Held {
  readonly n: number
  /** Step that wrote it. */
  readonly commit: number
}

/** A reader that keeps what it is told, and where it stands. It may be away for as long as it likes. */
export class Follower {
  readonly kind: FollowerKind
  positions: readonly ReaderPosition[] = []
  /** By key. */
  readonly held = new Map<string, Held>()
  /** Order of the newest change of each key that it has seen. */
  readonly #newest = new Map<string, number>()
  /** Versions whose expiry it has seen, with their keys. */
  readonly #expired = new Map<number, string>()
  /** The step that it began with. */
  #since = -1
  /** What it has read again from the beginning. */
  #restarted: readonly FeedRange[] = []

  constructor(kind: FollowerKind) {
    this.kind = kind
  }

  /** It begins only now. */
  beginAt(commit: number): void {
    this.#since = this.kind.from === 'beginning' ? -1 : commit
  }

  /** A follower that has seen the same, and goes its own way from here. */
  fork(): Follower {
    const copy = new Follower(this.kind)
    copy.positions = this.positions
    copy.#since = this.#since
    copy.#restarted = this.#restarted
    for (const [key, held] of this.held) copy.held.set(key, held)
    for (const [key, order] of this.#newest) copy.#newest.set(key, order)
    for (const [n, key] of this.#expired) copy.#expired.set(n, key)
    return copy
  }

  /** Begins again in a part of the keys, as one who was passed by the horizon has to. */
  forget(range: FeedRange): void {
    for (const key of this.#newest.keys()) {
      if (!rangeContainsEpk(range, epkOfKey(key))) continue
      this.held.delete(key)
      this.#newest.delete(key)
    }
    for (const [n, key] of this.#expired) {
      if (rangeContainsEpk(range, epkOfKey(key))) this.#expired.delete(n)
    }
    this.#restarted = [...this.#restarted, range]
  }

  /** The step after which it must have seen everything of a key. */
  #sinceOf(key: string): number {
    const isRestarted = this.#restarted.some((range) => rangeContainsEpk(range, epkOfKey(key)))
    return isRestarted ? -1 : this.#since
  }

  /** Takes in what a page told. */
  apply(session: Session, changes: readonly ModelChange[]): void {
    for (const change of changes) {
      if (change.kind === 'version') this.#applyVersion(session, change)
      else this.#applyLatest(session, change)
    }
  }

  #applyLatest({ model }: Session, change: Exclude<ModelChange, { kind: 'version' }>): void {
    const isExpiry = change.kind === 'pendingDelete'
    const document = isExpiry ? change.lastVersion : change.document
    const key = keyOf(document)
    const { n } = document
    const commit = (isExpiry ? model.pending.get(n)?.commit : model.live(key)?.commit) ?? 0
    // A pending delete comes before what the same step wrote in its place.
    const order = commit * 2 + (isExpiry ? 0 : 1)
    this.#advance(key, order, `${change.kind} of version ${n}`)
    if (!isExpiry) return void this.held.set(key, { n, commit })
    expectThat(!this.#expired.has(n), () => `version ${n} expired twice for one follower (TTL-13)`)
    this.#expired.set(n, key)
    this.held.delete(key)
  }

  #applyVersion({ model }: Session, change: Extract<ModelChange, { kind: 'version' }>): void {
    const key = `${String(change.partitionKey)}/${change.id}`
    const entries = model.history.get(key) ?? []
    const index = entries.findIndex(({ lsn, operation }) => {
      const type = operation === 'expire' ? 'delete' : operation
      return lsn === change.lsn && type === change.operationType
    })
    const before = this.#newest.get(key)
    if (before !== undefined) {
      expectSame(`entry of ${key} that comes after ${before} for one follower`, index, before + 1)
    }
    this.#newest.set(key, index)
  }

  #advance(key: string, order: number, what: string): void {
    const before = this.#newest.get(key) ?? -1
    expectThat(order > before, () => `a follower gets ${what} of ${key} again, or too late`)
    this.#newest.set(key, order)
  }

  /** It has caught up: what it holds must be what there is. */
  expectComplete(session: Session): void {
    if (this.kind.mode === 'allVersions') this.#expectAllVersions(session)
    else this.#expectLatest(session)
  }

  #expectLatest({ model }: Session): void {
    for (const { key, n, commit } of model.liveVersions()) {
      const isDue = commit > this.#sinceOf(key)
      const held = this.held.get(key)
      if (isDue || held !== undefined) expectSame(`what a follower holds of ${key}`, held?.n, n)
    }
    if (!this.kind.pendingDeletes) return
    for (const { version, commit } of model.pending.values()) {
      const { n, key } = version
      if (commit <= this.#sinceOf(key)) continue
      expectThat(
        this.#expired.has(n),
        () => `a follower missed that version ${n} of ${key} expired`,
      )
    }
    for (const [key, { n, commit }] of this.held) {
      if (model.documents.has(key)) continue
      const wasDeleted = (model.deletedBy.get(key) ?? 0) >= commit
      expectThat(wasDeleted, () => `a follower still holds version ${n} of ${key}, which expired`)
    }
  }

  #expectAllVersions({ model }: Session): void {
    for (const [key, entries] of model.history) {
      const last = entries.findLast(({ isLogged }) => isLogged)
      if (last === undefined || last.commit <= this.#sinceOf(key)) continue
      expectSame(`newest entry of ${key} that a follower has`, this.#newest.get(key), last.index)
    }
  }
}

function epkOfKey(key: string): string {
  return epkOf(key.split('/')[0] ?? '')
}
