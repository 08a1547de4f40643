import type { CommitRequest } from '@tidemark/store/engine'

/** A commit that waits for its group. */
export interface WaitingCommit {
  readonly request: CommitRequest
  readonly operations: number
  /** Whether it waits for the disk. */
  readonly isSynced: boolean
  /** Of the texts that it writes. */
  readonly chars: number
  /** One for each document that it concerns, and for each entry of a unique key that it assigns. */
  readonly keys: readonly string[]
}

/** The maximum size of a group; a single commit can be larger. */
export interface GroupLimits {
  readonly maxOperations: number
  readonly maxChars: number
}

/** Commits that wait to be written together, in order of arrival. */
export class WriteQueue<Commit extends WaitingCommit> {
  #waiting: Commit[] = []

  get length(): number {
    return this.#waiting.length
  }

  push(commit: Commit): void {
    this.#waiting.push(commit)
  }

  /**
   * The next group. It has at most one commit for each document or entry of a unique key, and one epoch for each job. A
   * commit that has to wait for the next group holds back the later ones of its documents, so that each document's
   * commits stay in order. If the first does not wait for the disk, nobody of its group does; otherwise the others may go
   * with it, whose range is locked meanwhile anyway.
   */
  take({ maxOperations, maxChars }: GroupLimits): readonly Commit[] {
    const group: Commit[] = []
    const left: Commit[] = []
    const keys = new Set<string>()
    const isSynced = this.#waiting[0]?.isSynced === true
    const epochs = new Map<string, number>()
    let operations = 0
    let chars = 0
    for (const [index, commit] of this.#waiting.entries()) {
      operations += commit.operations
      chars += commit.chars
      if (group.length > 0 && (operations > maxOperations || chars > maxChars)) {
        // Skips commits that cannot join: otherwise each group would walk through a long queue.
        this.#waiting = [...left, ...this.#waiting.slice(index)]
        return group
      }
      const { fence } = commit.request
      const otherEpoch =
        fence !== undefined && (epochs.get(fence.job) ?? fence.epoch) !== fence.epoch
      const isHeldBack =
        otherEpoch || (commit.isSynced && !isSynced) || commit.keys.some((key) => keys.has(key))
      for (const key of commit.keys) keys.add(key)
      if (isHeldBack) {
        left.push(commit)
        operations -= commit.operations
        chars -= commit.chars
      } else {
        group.push(commit)
        if (fence !== undefined) epochs.set(fence.job, fence.epoch)
      }
    }
    this.#waiting = left
    return group
  }
}

/** One text for each document, to find out whether two commits concern the same one. */
export function documentKeys({ batches }: CommitRequest): readonly string[] {
  return batches.flatMap(({ collection, partitionKey, operations }) =>
    operations.map(({ id }) => `${collection}\n${partitionKey}\n${id}`),
  )
}
