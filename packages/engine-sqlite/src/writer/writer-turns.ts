import type { WriterReply, WriterRequest } from './writer-messages.ts'
import { BackgroundRequests } from './background-requests.ts'
import type { DatabaseWriter } from './database-writer.ts'

/** What a writer does next: requests, then background work, then the removal of what collections left behind. */
export class WriterTurns {
  readonly #writer: DatabaseWriter
  readonly #background: BackgroundRequests
  #waiting: readonly WriterRequest[] = []
  #isPurging = true

  constructor(writer: DatabaseWriter, clock: { monotonicMs(): number }) {
    this.#writer = writer
    this.#background = new BackgroundRequests(clock)
  }

  get hasRequests(): boolean {
    return this.#waiting.length > 0 || !this.#background.isEmpty
  }

  add(requests: readonly WriterRequest[]): void {
    const urgent = this.#background.setAside(requests)
    if (urgent.length > 0) this.#waiting = [...this.#waiting, ...urgent]
  }

  /**
   * Carries out one group of requests. A piece of background work runs when none waits, and from time to time under
   * constant load. False when there was nothing to do.
   */
  work(reply: (replies: readonly WriterReply[]) => void): boolean {
    const waiting = this.#waiting
    const isBusy = waiting.length > 0
    const piece = isBusy ? this.#background.overdue() : this.#background.next()
    if (isBusy) this.#waiting = waiting.slice(this.#run(waiting, reply))
    if (piece !== undefined) this.#run([piece], reply)
    return isBusy || piece !== undefined
  }

  /** Deletes some rows of removed collections. False when there was nothing to do. */
  purge(): boolean {
    if (!this.#isPurging) return false
    this.#isPurging = this.#writer.purge()
    this.#writer.yieldToOthers()
    return true
  }

  #run(
    requests: readonly WriterRequest[],
    reply: (replies: readonly WriterReply[]) => void,
  ): number {
    const replies = this.#writer.runGroup(requests)
    reply(replies)
    this.#isPurging ||= requests.slice(0, replies.length).some(leavesRowsBehind)
    this.#writer.yieldToOthers()
    return replies.length
  }
}

/** Whether there may be segments afterwards that no range has any more. */
function leavesRowsBehind({ task }: WriterRequest): boolean {
  switch (task.kind) {
    case 'deleteCollection':
    case 'splitRange':
    case 'mergeRanges':
      return true
    case 'maintain':
      return task.work?.kind === 'fold'
    default:
      return false
  }
}
