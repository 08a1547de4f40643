import type { CommitRequest } from '@tidemark/store'

/** A commit that waits for its group. */
export interface WaitingCommit {
  readonly request: CommitRequest
  readonly operations: number
  /** One for each document that it concerns. */
  readonly keys: readonly string[]
}

/** Commits that wait to be written together, in the order in which they came. */
export class WriteQueue<Commit extends WaitingCommit> {
  #waiting: Commit[] = []

  get length(): number {
    return this.#waiting.length
  }

  push(commit: Commit): void {
    this.#waiting.push(commit)
  }

  /**
   * The next group: of one document at most one commit, of one job one epoch. A commit that has to wait for
   * the group after holds back the later ones of its documents, so that each document's come in order.
   */
  take(maxOperations: number): readonly Commit[] {
    const group: Commit[] = []
    const left: Commit[] = []
    const keys = new Set<string>()
    const epochs = new Map<string, number>()
    let operations = 0
    for (const commit of this.#waiting) {
      const { fence } = commit.request
      const isFull = group.length > 0 && operations + commit.operations > maxOperations
      const otherEpoch =
        fence !== undefined && (epochs.get(fence.job) ?? fence.epoch) !== fence.epoch
      const isHeldBack = isFull || otherEpoch || commit.keys.some((key) => keys.has(key))
      for (const key of commit.keys) keys.add(key)
      if (isHeldBack) left.push(commit)
      else {
        group.push(commit)
        operations += commit.operations
        if (fence !== undefined) epochs.set(fence.job, fence.epoch)
      }
    }
    this.#waiting = left
    return group
  }
}

/** One text a document, for telling whether two commits concern the same. */
export function documentKeys({ batches }: CommitRequest): readonly string[] {
  return batches.flatMap(({ collection, partitionKey, operations }) =>
    operations.map(({ id }) => `${collection.number}\n${partitionKey}\n${id}`),
  )
}
