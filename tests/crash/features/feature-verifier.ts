import { FIRST_DEFAULT_TTL, type FeatureStore } from './feature-store.ts'
import type { ArchivedPage } from './feature-tasks.ts'
import type { JournalEntry } from './journal.ts'
import { laneHistories } from './lane-history.ts'
import { Ledger } from './ledger.ts'
import { ResumedMirror } from './resumed-mirror.ts'
import { TtlTimeline } from './ttl-timeline.ts'
import { verifyDocuments } from './verify-documents.ts'
import { LogMemory } from './verify-log.ts'
import { verifyPendingDeletes } from './verify-pending-deletes.ts'

export interface FeatureVerdict {
  /** Acknowledged writes and pending deletes that are not there. */
  readonly lost: readonly string[]
  /** Whatever does not agree. */
  readonly faults: readonly string[]
}

/** Compares the store, after each kill, with what its writers and its waiting group noted. */
export class FeatureVerifier {
  readonly #timeline = new TtlTimeline(FIRST_DEFAULT_TTL)
  readonly #ledger = new Ledger(this.#timeline)
  readonly #log = new LogMemory()
  readonly #mirror = new ResumedMirror()
  /** Pending deletes that the waiting group had, and those that are purged. */
  pendingDeletes: { readonly delivered: number; readonly purged: number } = {
    delivered: 0,
    purged: 0,
  }

  get inDoubt(): Ledger['inDoubt'] {
    return this.#ledger.inDoubt
  }

  /** All expiries that became pending deletes. */
  get expiries(): number {
    return this.#ledger.expiries.size
  }

  get trimmed(): number {
    return this.#log.trimmed
  }

  /** Nobody else may have the store open. */
  async verify(
    { store, documents }: FeatureStore,
    {
      journals,
      archive,
    }: {
      /** Of this round, one a process. */
      readonly journals: readonly (readonly JournalEntry[])[]
      readonly archive: readonly ArchivedPage[]
    },
  ): Promise<FeatureVerdict> {
    const ledger = this.#ledger
    const timeline = this.#timeline
    const { definition } = await documents.readRecord()
    for (const entry of journals.flat()) {
      if (entry.kind === 'ttlBegin') timeline.begin(entry.defaultTtl, entry.atMs)
      if (entry.kind === 'ttlDone') timeline.done(entry.atMs)
    }
    timeline.resolve(definition.defaultTtl, Date.now())
    const log = await this.#log.readOn(documents, ledger.faults)
    ledger.explain(
      log,
      journals.flatMap((journal) => [...laneHistories(journal).values()]),
    )
    await verifyDocuments(documents, { ledger, timeline })
    await this.#mirror.verify(documents, { ledger, timeline })
    await this.#log.verifyWhole(documents, ledger.faults)
    this.pendingDeletes = await verifyPendingDeletes(documents, { ledger, archive })
    ledger.faults.push(...(await store.check()))
    const { lost, faults } = ledger
    ledger.lost = []
    ledger.faults = []
    return { lost, faults }
  }

  /** At the end, everything that has expired is a pending delete, and the waiting group had all of them. */
  verifyDrained(): readonly string[] {
    const { documents } = this.#ledger
    const nowMs = Date.now()
    const left = [...documents].filter(
      ([, document]) => this.#timeline.judge(document, nowMs - 1000) === 'expired',
    )
    const { delivered } = this.pendingDeletes
    return [
      ...left.map(([key, { version }]) => `${key}: ${version} expired, and has no pending delete`),
      ...(delivered === this.expiries
        ? []
        : [`${this.expiries} documents expired, ${delivered} pending deletes were delivered`]),
    ]
  }
}
