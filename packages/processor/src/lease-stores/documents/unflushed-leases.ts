import { LeaseStoreUnavailableError } from '@tidemark/contracts'
import type { LeaseRecord } from '../lease-group-state.ts'
import { leaseDocumentId } from './lease-documents.ts'
import { chunks, type LeasePartition } from './lease-partition.ts'

/** A lease document as this handle last saw it: lets a checkpoint go out without a read. */
export interface SeenLease {
  readonly set: string
  readonly record: LeaseRecord
  readonly etag: string
}

/** What one handle of a group wrote last without a sync, by lease, until it is known to be on disk. */
export class UnflushedLeases {
  readonly #partition: LeasePartition
  readonly #written = new Map<string, SeenLease>()
  /** How often something was found to be gone. */
  #losses = 0

  constructor(partition: LeasePartition) {
    this.#partition = partition
  }

  /** A lease was written over the document of etag `over`. */
  wrote(
    lease: SeenLease,
    { over, synced }: { readonly over: string | undefined; readonly synced: boolean },
  ): void {
    const { id } = lease.record
    const before = this.#written.get(id)
    // A write that does not follow on the one before shows that one to be gone.
    if (before !== undefined && before.etag !== over) this.#losses += 1
    if (synced) this.#written.delete(id)
    else this.#written.set(id, lease)
  }

  clear(): void {
    this.#written.clear()
  }

  /**
   * Resolves when all that was written before the call is on disk. Rejects with ERR_LEASE_STORE_UNAVAILABLE as long as
   * some of it is lost and not written again, and once for a lease that has another owner.
   *
   * The server may have died since, and come back as another process: it flushes what it has, and does not know what it
   * has not. So what was written is looked at afterwards.
   */
  async flush(signal?: AbortSignal): Promise<void> {
    const losses = this.#losses
    const written = [...this.#written.values()]
    await this.#partition.flush(signal)
    for (const leases of chunks(written, 0)) await this.#confirm(leases, signal)
    if (losses === this.#losses) return
    throw new LeaseStoreUnavailableError(
      `leases of group ${JSON.stringify(this.#partition.group)}: some positions were lost, or taken over, before they were on disk`,
    )
  }

  async #confirm(leases: readonly SeenLease[], signal?: AbortSignal): Promise<void> {
    const ids = leases.map(({ set, record }) => leaseDocumentId(set, record.id))
    const stored = await this.#partition.readLeases(ids, signal)
    for (const lease of leases) {
      const { id, epoch, checkpoint } = lease.record
      const now = stored.get(id)
      const isOwn = now?.epoch === epoch
      const isThere = isOwn && now.checkpoint.lsn >= checkpoint.lsn
      if (!isThere) this.#losses += 1
      if ((isThere || !isOwn) && this.#written.get(id) === lease) this.#written.delete(id)
    }
  }
}
