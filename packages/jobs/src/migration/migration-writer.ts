import type { Change, DocumentBody, DocumentChange } from '@tidemark/contracts'
import {
  EffectivelyOnce,
  type Applied,
  type Effort,
  type OnceJob,
  type Plan,
} from '../effectively-once/effectively-once.ts'
import type { Remembered } from '../effectively-once/reconcile.ts'
import { documentPages } from '../workers/document-pages.ts'
import { carryExpiry } from './carry-expiry.ts'
import {
  changeKey,
  keyReader,
  keyText,
  partitionKeyValue,
  type DocumentKey,
} from './document-key.ts'
import { FactReader } from './fact-reader.ts'
import type { MapDocument } from './map-document.ts'
import type { MigrationStorage } from './migration-storage.ts'
import { planDocument } from './plan-document.ts'
import {
  ledgerWrite,
  type Collision,
  type Facts,
  type IncomingDocument,
  type MappedDocument,
  type PlannedWrite,
} from './planned-write.ts'
import { NO_COUNTS, addCounts, sourceOfEntry, type MigrationCounts } from './state-documents.ts'

/** Bounds one commit, so that other writers of the target get their turn. */
const MAX_WRITES = 500
const MAX_DOCUMENTS = 250

export type AppliedPage = Applied<MigrationCounts, Collision>

export type MigrationWriter<S extends DocumentBody> = EffectivelyOnce<
  Change<S>,
  IncomingDocument,
  Facts,
  MigrationCounts,
  Collision
>

/** Writes what one range's changes make of the target of a migration. */
export function migrationWriter<S extends DocumentBody, T extends DocumentBody>(
  storage: MigrationStorage<S, T>,
  map: MapDocument<S, T>,
): MigrationWriter<S> {
  return new EffectivelyOnce(storage, new MigrationPlans(storage, map))
}

class MigrationPlans<S extends DocumentBody, T extends DocumentBody> implements OnceJob<
  Change<S>,
  IncomingDocument,
  Facts,
  MigrationCounts,
  Collision
> {
  readonly counters = { none: NO_COUNTS, add: addCounts }
  readonly #storage: MigrationStorage<S, T>
  readonly #facts: FactReader<S, T>
  readonly #map: MapDocument<S, T>
  readonly #targetKey: (document: DocumentBody) => DocumentKey

  constructor(storage: MigrationStorage<S, T>, map: MapDocument<S, T>) {
    this.#storage = storage
    this.#facts = new FactReader(storage, map)
    this.#map = map
    this.#targetKey = keyReader(storage.target.partitionKeyPaths)
  }

  async incoming(changes: readonly Change<S>[]): Promise<readonly IncomingDocument[]> {
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

  async *remembered(): AsyncGenerator<readonly Remembered[]> {
    for await (const page of documentPages(this.#storage.entries)) {
      yield page.flatMap(({ id, partition, target }) => {
        const source = sourceOfEntry({ id, partition })
        return source === undefined || target === null
          ? []
          : { id, partitionKey: partitionKeyValue(source) }
      })
    }
  }

  fitting(pending: readonly IncomingDocument[]): number {
    return Math.min(pending.length, MAX_DOCUMENTS)
  }

  /** What has expired by now, though it had not when the page was read, is not copied any more. */
  asOf(incoming: IncomingDocument, timeMs: number): IncomingDocument {
    const { expiresAtMs } = incoming.mapped ?? {}
    if (expiresAtMs === undefined || expiresAtMs > timeMs) return incoming
    return { ...incoming, mapped: undefined, gone: 'expired' }
  }

  isGone({ gone }: IncomingDocument): boolean {
    return gone !== undefined
  }

  facts(candidates: readonly IncomingDocument[], effort: Effort): Promise<Facts> {
    return this.#facts.read(candidates, effort)
  }

  /** Plans documents until the commit is full or one needs what another one of it changes. */
  plan(candidates: readonly IncomingDocument[], facts: Facts): Plan<MigrationCounts, Collision> {
    const writes: PlannedWrite[] = []
    const notes: Collision[] = []
    const touched = new Set<string>()
    let counts = NO_COUNTS
    let taken = 0
    let replays = 0
    let lsn = 0
    let leavesUnseen = false
    for (const incoming of candidates) {
      const plan = planDocument(incoming, facts)
      if (plan.kind === 'write') {
        const keys = plan.writes.map(({ to, key }) => `${to} ${keyText(key)}`)
        if (writes.length + plan.writes.length > MAX_WRITES && taken > 0) break
        if (keys.some((key) => touched.has(key))) break
        for (const key of keys) touched.add(key)
        writes.push(...plan.writes)
        counts = addCounts(counts, plan.counts)
        if (plan.collision) notes.push(plan.collision)
        lsn = Math.max(lsn, incoming.lsn)
      } else {
        replays += 1
        leavesUnseen ||= plan.unseen === true
      }
      taken += 1
    }
    const areNew = counts.documents === taken
    const made = { writes: writes.map(ledgerWrite), notes, counts, lsn }
    return { ...made, taken, replays, areNew, leavesUnseen }
  }

  async #mapped(change: DocumentChange<S>): Promise<MappedDocument | undefined> {
    const document = await this.#map(change.document)
    if (document === undefined) return undefined
    const key = this.#targetKey(document)
    const { carrier } = this.#storage
    if (carrier === undefined) return { key, document }
    return { key, ...carryExpiry(document, change.expiresAtMs, carrier) }
  }
}
