import type { DocumentBody, RequestOptions } from '@tidemark/contracts'
import { ChangeFeedEstimator } from '@tidemark/processor'
import { HostedJob, type JobHost } from '../workers/hosted-job.ts'
import { jobHost } from '../workers/job-host.ts'
import { readLag, totalLag } from '../workers/range-lag.ts'
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

class ForwardingWorker<T extends DocumentBody> implements ChangeForwarding {
  readonly #options: ForwardOptions<T>
  readonly group: string
  readonly #job: HostedJob<T>
  #changes = 0
  #messages = 0

  constructor(options: ForwardOptions<T>, group: string) {
    this.#options = options
    this.group = group
    this.#job = new HostedJob('the forwarding', options)
  }

  get finished(): Promise<void> {
    return this.#job.finished
  }

  start(): Promise<void> {
    return this.#job.start(async () => this.#open())
  }

  async progress({ signal }: RequestOptions = {}): Promise<ForwardProgress> {
    const lag = totalLag(await readLag(this.#job.estimator, signal))
    return { changes: this.#changes, messages: this.#messages, lag }
  }

  async caughtUp({ signal }: RequestOptions = {}): Promise<void> {
    await this.#job.caughtUp(signal)
  }

  stop(): Promise<void> {
    return this.#job.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #open(): JobHost<T> {
    const { feed, leases, to, filter, map, feedOptions, deadLetters, clock } = this.#options
    const { group } = this
    const emit = (event: ForwardEvent): void => this.#emit(event)
    const host = jobHost<T>(this.#options, {
      group,
      feed,
      feedOptions: { startFromBeginning: true, ...feedOptions },
      deadLetters,
      emit,
    })
    const { mode, pendingDeletes } = feedOptions ?? {}
    return {
      host,
      observe: () => new ForwardingObserver({ feed, mode, to, filter, map, emit }),
      estimator: new ChangeFeedEstimator<T>({ feed, leases, group, mode, pendingDeletes, clock }),
    }
  }

  #emit(event: ForwardEvent): void {
    if (event.kind === 'forwarded') {
      this.#changes += event.changes
      this.#messages += event.messages
    }
    this.#options.onEvent?.(event)
  }
}
