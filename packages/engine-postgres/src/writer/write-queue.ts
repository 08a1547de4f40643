import type { CommitRequest } from '@tidemark/store/engine'

/** A commit that waits for its group. */
export interface WaitingCommit {
  readonly request: CommitRequest
  readonly operations: number
  /** Of the texts that it writes. */
  readonly chars: number
  /** One for each document that it concerns, and each entry of a unique key that it gives out. */
  readonly keys: readonly string[]
}

/** What a group has at most; a single commit may have more. */
export interface GroupLimits {
  readonly maxOperations: number
  readonly maxChars: number
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
   * The next group: of one document, or entry of a unique key, at most one commit, of one job one epoch. A commit that has to wait for
   * the group after holds back the later ones of its documents, so that each document's come in order.
   */
  take({ maxOperations, maxChars }: GroupLimits): readonly Commit[] {
    const group: Commit[] = []
    const left: Commit[] = []
    const keys = new Set<string>()
    const epochs = new Map<string, number>()
    let operations = 0
    let chars = 0
    for (const [index, commit] of this.#waiting.entries()) {
      operations += commit.operations
      chars += commit.chars
      if (group.length > 0 && (operations > maxOperations || chars > maxChars)) {
        // Nobody is looked at who cannot come along: a long queue would be walked through for each group.
        this.#waiting = [...left, ...this.#waiting.slice(index)]
        return group
      }
      const { fence } = commit.request
      const otherEpoch =
        fence !== undefined && (epochs.get(fence.job) ?? fence.epoch) !== fence.epoch
      const isHeldBack = otherEpoch || commit.keys.some((key) => keys.has(key))
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

/** One text a document, for telling whether two commits concern the same. */
export function documentKeys({ batches }: CommitRequest): readonly string[] {
  return batches.flatMap(({ collection, partitionKey, operations }) =>
    operations.map(({ id }) => `${collection.number}\n${partitionKey}\n${id}`),
  )
}
