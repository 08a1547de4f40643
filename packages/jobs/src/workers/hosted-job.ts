import { type DocumentBody, type IChangeFeedObserver } from '@tidemark/contracts'
import type { ChangeFeedEstimator, ChangeFeedProcessorHost } from '@tidemark/processor'
import { JobLife, type RunningJob } from './job-life.ts'

/** A host that has not started, what observes under it, and what measures its group. */
export interface JobHost<T extends DocumentBody> {
  readonly host: ChangeFeedProcessorHost<T>
  readonly observe: () => IChangeFeedObserver<T>
  readonly estimator: ChangeFeedEstimator<T>
}

interface Running<T extends DocumentBody> extends RunningJob {
  readonly estimator: ChangeFeedEstimator<T>
}

/** The worker of a job whose work is one host: its life, and what it waits for. */
export class HostedJob<T extends DocumentBody> {
  readonly #life: JobLife<Running<T>>
  readonly #stopsWhenCaughtUp: boolean
  readonly #finished = Promise.withResolvers<void>()

  /** @param name for messages, as in "the archive" */
  constructor(
    name: string,
    options: {
      readonly signal?: AbortSignal | undefined
      readonly stopWhenCaughtUp?: boolean | undefined
    },
  ) {
    this.#life = new JobLife(name, options.signal)
    this.#stopsWhenCaughtUp = options.stopWhenCaughtUp === true
    // Whoever does not ask is not to be disturbed.
    this.#finished.promise.catch(() => {})
  }

  /** Resolves when the worker has stopped. Rejects if it stopped because of an error. */
  get finished(): Promise<void> {
    return this.#finished.promise
  }

  /** @throws ERR_HOST_STOPPED unless it runs */
  get estimator(): ChangeFeedEstimator<T> {
    return this.#life.running().estimator
  }

  async start(open: () => Promise<JobHost<T>>): Promise<void> {
    await this.#life.start(() => this.#open(open))
    if (this.#stopsWhenCaughtUp) void this.#stopWhenCaughtUp()
  }

  async caughtUp(signal?: AbortSignal): Promise<void> {
    await this.estimator.untilCaughtUp({ signal: this.#life.untilEnded(signal) })
  }

  async stop(): Promise<void> {
    await this.#life.stop()
    // It may never have been started.
    this.#finished.resolve()
  }

  async #open(open: () => Promise<JobHost<T>>): Promise<Running<T>> {
    const { host, observe, estimator } = await open()
    host.on('stopped', ({ error }) => this.#hostStopped(error))
    await host.registerObserverFactory(observe)
    return { estimator, close: () => this.#close(host, estimator) }
  }

  async #close(host: ChangeFeedProcessorHost<T>, estimator: ChangeFeedEstimator<T>): Promise<void> {
    try {
      await host.unregisterObservers()
      await estimator[Symbol.asyncDispose]()
      this.#finished.resolve()
    } catch (error) {
      this.#finished.reject(error)
      throw error
    }
  }

  async #stopWhenCaughtUp(): Promise<void> {
    try {
      await this.caughtUp()
      await this.stop()
    } catch (error) {
      // A stop that came first has settled `finished` already.
      this.#finished.reject(error)
    }
  }

  #hostStopped(error: unknown): void {
    if (error !== undefined) this.#finished.reject(error)
    this.#life.fail(error)
  }
}
