import type { DocumentBody, RequestOptions } from '@tidemark/contracts'
import { JobGroups } from '../workers/job-groups.ts'
import { Job } from '../workers/job.ts'
import type { ForwardEvent } from './forward-events.ts'
import { resolveForwardGroup, type ForwardOptions } from './forward-options.ts'
import { ForwardingObserver } from './forwarding-observer.ts'

/** One worker that forwards changes. */
export interface ChangeForwarding extends AsyncDisposable {
  /** Its workers share the work. */
  readonly group: string
  /** Joins the group's workers and resolves; forwarding continues in the background. */
  start(): Promise<void>
  /** What this worker has forwarded, and how far the group is behind. */
  progress(options?: RequestOptions): Promise<ForwardProgress>
  /** Resolves when everything that was in the feed before the call is forwarded. */
  caughtUp(options?: RequestOptions): Promise<void>
  /**
   * Resolves when this worker has stopped: by `stop`, the signal, or `stopWhenCaughtUp`. Rejects if it stopped
   * because of an error.
   */
  readonly finished: Promise<void>
  /** Finishes batches in flight, hands the ranges over and ends. */
  stop(): Promise<void>
}

export interface ForwardProgress {
  /** Changes that this worker has read and forwarded; after a failure, some of them twice. */
  readonly changes: number
  readonly messages: number
  /** Transactions of the feed that the group has not forwarded yet; undefined before it has leases. */
  readonly lag: number | undefined
}

/**
 * Feeds a queue or topic from a change feed. Each change becomes a message (`map`), with its partition key as session, so that
 * the changes of a key arrive in their order. Any number of processes with the same `group` share the work by leases.
 *
 * At least once: a worker that is killed between a send and its checkpoint sends that batch again. The entity drops
 * the repeats if it has `requiresDuplicateDetection`, and a window that is longer than the longest outage of the workers.
 * Construction starts nothing.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function forwardChanges<T extends DocumentBody>(
  options: ForwardOptions<T>,
): ChangeForwarding {
  return new ForwardingWorker(options, resolveForwardGroup(options))
}

class ForwardingWorker<T extends DocumentBody>
  extends Job<JobGroups<T>>
  implements ChangeForwarding
{
  readonly group: string
  readonly #options: ForwardOptions<T>
  #changes = 0
  #messages = 0

  constructor(options: ForwardOptions<T>, group: string) {
    super('the forwarding', options)
    this.#options = options
    this.group = group
  }

  async progress(options: RequestOptions = {}): Promise<ForwardProgress> {
    const { total: lag } = await this.running.watched.lag(options)
    return { changes: this.#changes, messages: this.#messages, lag }
  }

  protected open(): Promise<JobGroups<T>> {
    const options = this.#options
    const { feed, to, filter, map, feedOptions, deadLetters } = options
    const { group } = this
    const emit = (event: ForwardEvent): void => this.#emit(event)
    const { mode } = feedOptions ?? {}
    const documents = {
      role: 'documents',
      group,
      feedOptions: { startFromBeginning: true, ...feedOptions },
      deadLetters,
      observe: () => new ForwardingObserver({ feed, mode, to, filter, map, emit }),
    } as const
    return JobGroups.start<T>({
      options,
      source: feed,
      groups: [documents],
      emit,
      failed: (error) => this.fail(error),
    })
  }

  #emit(event: ForwardEvent): void {
    if (event.kind === 'forwarded') {
      this.#changes += event.changes
      this.#messages += event.messages
    }
    this.#options.onEvent?.(event)
  }
}
