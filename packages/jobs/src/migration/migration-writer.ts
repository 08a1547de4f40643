import {
  errorCode,
  feedRangeId,
  type Change,
  type DocumentBody,
  type DocumentChange,
} from '@tidemark/contracts'
import { carryExpiry } from './carry-expiry.ts'
import { changeKey, keyReader, keyText, type DocumentKey } from './document-key.ts'
import { FactReader, type FactEffort } from './fact-reader.ts'
import type { MapDocument } from './map-document.ts'
import type { MigrationStorage } from './migration-storage.ts'
import { planDocument } from './plan-document.ts'
import {
  asRead,
  stateKey,
  type Collision,
  type Facts,
  type IncomingDocument,
  type MappedDocument,
  type PlannedWrite,
  type Versioned,
} from './planned-write.ts'
import type { RangeOwner } from './range-owner.ts'
import {
  NO_COUNTS,
  addCounts,
  rangeProgressKey,
  type MigrationCounts,
  type RangeProgress,
} from './state-documents.ts'

/** Bounds one commit, so that other writers of the target get their turn. */
const MAX_WRITES = 500
const MAX_DOCUMENTS = 250
/** Each refusal means that another worker got on, so that more than a few of them are a defect. */
const MAX_ATTEMPTS = 50

export interface AppliedPage {
  readonly counts: MigrationCounts
  readonly replays: number
  readonly collisions: readonly Collision[]
}

/** Writes what one range's changes make of the target, exactly once however often they come. */
export class MigrationWriter<S extends DocumentBody, T extends DocumentBody> {
  readonly #storage: MigrationStorage<S, T>
  readonly #facts: FactReader<S, T>
  readonly #map: MapDocument<S, T>
  readonly #targetKey: (document: DocumentBody) => DocumentKey
  /** What the last documents of each range were, as the next ones will probably be. */
  readonly #expectations = new Map<string, Expectation>()
  /** The epoch at which each range was written to here: nobody with a lower one writes there any more. */
  readonly #fences = new Map<string, number>()

  constructor(storage: MigrationStorage<S, T>, map: MapDocument<S, T>) {
    this.#storage = storage
    this.#facts = new FactReader(storage, map)
    this.#map = map
    this.#targetKey = keyReader(storage.target.partitionKeyPaths)
  }

  /** Rejects with ERR_FENCED_WRITE when another owner has taken over; nothing of the rest is written then. */
  async apply(
    changes: readonly Change<S>[],
    owner: RangeOwner,
    signal: AbortSignal,
  ): Promise<AppliedPage> {
    let pending = await this.#incoming(changes)
    let counts = NO_COUNTS
    let replays = 0
    const collisions: Collision[] = []
    while (pending.length > 0) {
      const chunk = await this.#applySome(pending, owner, signal)
      counts = addCounts(counts, chunk.counts)
      replays += chunk.replays
      collisions.push(...chunk.collisions)
      pending = pending.slice(chunk.taken)
    }
    return { counts, replays, collisions }
  }

  /**
   * Those changes whose document has not been changed again since: the others come again, in the newer
   * version. So a document that cannot be written stops its range only until it is mended in the source.
   */
  async stillCurrent(changes: readonly Change<S>[]): Promise<readonly Change<S>[]> {
    const current = await Promise.all(
      changes.map(async ({ kind, id, partitionKey, lsn }) => {
        // What is gone cannot be mended.
        if (kind !== 'document') return true
        const { document } = await this.#storage.source.read(id, partitionKey)
        return document !== undefined && document._lsn === lsn
      }),
    )
    return changes.filter((_, index) => current[index])
  }

  async #incoming(changes: readonly Change<S>[]): Promise<readonly IncomingDocument[]> {
    const incoming: IncomingDocument[] = []
    for (const change of changes) {
      const source = changeKey(change, this.#storage.source.partitionKeyPaths.length)
      const { lsn } = change
      switch (change.kind) {
        case 'document':
          incoming.push({ source, lsn, mapped: await this.#mapped(change) })
          break
        case 'pendingDelete':
          incoming.push({ source, lsn, mapped: undefined, gone: 'expired' })
          break
        case 'version':
          // The rest of the log comes in the feed of documents; what expires, as pending deletes.
          if (change.operationType !== 'delete' || change.timeToLiveExpired) break
          incoming.push({ source, lsn, mapped: undefined, gone: 'deleted' })
      }
    }
    return incoming
  }

  async #mapped(change: DocumentChange<S>): Promise<MappedDocument | undefined> {
    const document = await this.#map(change.document)
    if (document === undefined) return undefined
    const key = this.#targetKey(document)
    const { carrier } = this.#storage
    if (carrier === undefined) return { key, document }
    return { key, ...carryExpiry(document, change.expiresAtMs, carrier) }
  }

  /** Applies as many of the first documents as fit into one commit. */
  async #applySome(
    pending: readonly IncomingDocument[],
    owner: RangeOwner,
    signal: AbortSignal,
  ): Promise<AppliedPage & { readonly taken: number }> {
    let most = Math.min(pending.length, MAX_DOCUMENTS)
    const rangeId = `${owner.group} ${feedRangeId(owner.range)}`
    const efforts = EFFORTS[this.#expectations.get(rangeId) ?? 'new']
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted()
      const { progress, timeMs } = await this.#facts.progress(owner)
      const candidates = pending.slice(0, most).map((incoming) => withoutExpired(incoming, timeMs))
      const facts = await this.#facts.read(
        candidates,
        effortFor(candidates, efforts[attempt - 1] ?? 'all'),
      )
      const chunk = planChunk(candidates, facts)
      const { documents } = chunk.counts
      this.#expectations.set(rangeId, documents === chunk.taken ? 'new' : 'known')
      // What an earlier owner still wants to write of a document that is gone has to be refused before it is left out.
      const fencesOnly = chunk.unseen && this.#fences.get(rangeId) !== owner.epoch
      if (chunk.writes.length === 0 && !fencesOnly) return chunk
      const done = fencesOnly ? NOTHING_DONE : chunk
      const writes = [...done.writes, progressWrite(owner, done, progress)]
      try {
        const outcome = await this.#storage.commit(writes, owner, signal)
        if (outcome === 'committed') {
          this.#fences.set(rangeId, owner.epoch)
          if (!fencesOnly) return chunk
        }
      } catch (error) {
        if (errorCode(error) !== 'ERR_COMMIT_TOO_LARGE' || chunk.taken === 1) throw error
        most = Math.ceil(chunk.taken / 2)
      }
      if (attempt >= MAX_ATTEMPTS) {
        throw new Error(
          `commit was refused ${attempt} times; another process keeps changing the same documents`,
        )
      }
    }
  }
}

/** What has expired by now, though it had not when the page was read, is not copied any more. */
function withoutExpired(incoming: IncomingDocument, timeMs: number): IncomingDocument {
  const { expiresAtMs } = incoming.mapped ?? {}
  if (expiresAtMs === undefined || expiresAtMs > timeMs) return incoming
  return { ...incoming, mapped: undefined, gone: 'expired' }
}

/** That a document was never copied is no guess for one that is gone: nothing would be written then. */
function effortFor(candidates: readonly IncomingDocument[], planned: FactEffort): FactEffort {
  const isAnyGone = candidates.some(({ gone }) => gone !== undefined)
  return planned === 'none' && isAnyGone ? 'entries' : planned
}

/** Whether documents come for the first time, as in the first copy, or again. */
type Expectation = 'new' | 'known'

/** What the tries of a commit look up, one after the other; from the last one on, everything. */
const EFFORTS: Readonly<Record<Expectation, readonly FactEffort[]>> = {
  new: ['none', 'entries'],
  known: ['entries'],
}

interface Chunk extends AppliedPage {
  readonly taken: number
  readonly lsn: number
  readonly writes: readonly PlannedWrite[]
  /** Whether one of them is gone, and is not known. */
  readonly unseen: boolean
}

const NOTHING_DONE: Pick<Chunk, 'counts' | 'lsn' | 'writes'> = {
  counts: NO_COUNTS,
  lsn: 0,
  writes: [],
}

/** Plans documents until the commit is full or one needs what another one of it changes. */
function planChunk(candidates: readonly IncomingDocument[], facts: Facts): Chunk {
  const writes: PlannedWrite[] = []
  const collisions: Collision[] = []
  const touched = new Set<string>()
  let counts = NO_COUNTS
  let taken = 0
  let replays = 0
  let lsn = 0
  let unseen = false
  for (const incoming of candidates) {
    const plan = planDocument(incoming, facts)
    if (plan.kind === 'write') {
      const keys = plan.writes.map(({ to, key }) => `${to} ${keyText(key)}`)
      if (writes.length + plan.writes.length > MAX_WRITES && taken > 0) break
      if (keys.some((key) => touched.has(key))) break
      for (const key of keys) touched.add(key)
      writes.push(...plan.writes)
      counts = addCounts(counts, plan.counts)
      if (plan.collision) collisions.push(plan.collision)
      lsn = Math.max(lsn, incoming.lsn)
    } else {
      replays += 1
      unseen ||= plan.unseen === true
    }
    taken += 1
  }
  return { writes, counts, taken, replays, collisions, lsn, unseen }
}

function progressWrite(
  owner: RangeOwner,
  { counts, lsn }: Pick<Chunk, 'counts' | 'lsn'>,
  present: Versioned<RangeProgress> | undefined,
): PlannedWrite {
  const { range, epoch, hostName } = owner
  const before = present?.document
  const takeovers = before !== undefined && before.epoch !== epoch ? 1 : 0
  const document: RangeProgress = {
    ...rangeProgressKey(owner),
    range,
    lsn: Math.max(lsn, before?.lsn ?? 0),
    epoch,
    hostName,
    ...addCounts(before ?? NO_COUNTS, { ...counts, takeovers }),
  }
  return {
    to: 'state',
    operation: { kind: 'put', document },
    key: stateKey(rangeProgressKey(owner)),
    conditions: asRead(present),
  }
}
