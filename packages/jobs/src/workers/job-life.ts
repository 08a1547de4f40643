import { HostStoppedError } from '@tidemark/contracts'

/** What a job has while it runs. `close` resolves when nothing of it is left. */
export interface RunningJob {
  close(): Promise<void>
}

type State<Running> =
  | { readonly kind: 'idle' }
  | { readonly kind: 'starting'; readonly started: Promise<Running> }
  | { readonly kind: 'running'; readonly running: Running }
  | { readonly kind: 'stopped'; readonly done: Promise<void> }

/** The one life of a job's worker: it is started once, then stopped, by a call or by a signal. */
export class JobLife<Running extends RunningJob> {
  readonly #name: string
  readonly #signal: AbortSignal | undefined
  readonly #ended = new AbortController()
  readonly #stopOnAbort = (): void => {
    // The rejection reaches whoever calls `stop`, which every owner of a worker does.
    this.stop().catch(() => {})
  }
  #state: State<Running> = { kind: 'idle' }

  /** @param name for messages, as in "the migration" */
  constructor(name: string, signal: AbortSignal | undefined) {
    this.#name = name
    this.#signal = signal
  }

  /** Aborted when the job ends, with the reason. */
  get ended(): AbortSignal {
    return this.#ended.signal
  }

  /** Rejects as `open` does, and with ERR_HOST_STOPPED when it was started before. */
  async start(open: () => Promise<Running>): Promise<void> {
    if (this.#state.kind !== 'idle') {
      throw new HostStoppedError(`${this.#name} cannot start: it is ${this.#state.kind}`)
    }
    this.#signal?.throwIfAborted()
    const started = open()
    this.#state = { kind: 'starting', started }
    try {
      const running = await started
      // `stop` may have been called meanwhile.
      if (this.#isStarting()) this.#state = { kind: 'running', running }
    } catch (error) {
      if (this.#isStarting()) this.#state = { kind: 'stopped', done: Promise.resolve() }
      throw error
    }
    this.#signal?.addEventListener('abort', this.#stopOnAbort, { once: true })
    if (this.#signal?.aborted) this.#stopOnAbort()
  }

  /** @throws ERR_HOST_STOPPED unless it runs */
  running(): Running {
    if (this.#state.kind !== 'running') {
      throw new HostStoppedError(`${this.#name} is not running: it is ${this.#state.kind}`)
    }
    return this.#state.running
  }

  /** The job cannot go on: everything that waits for it rejects with this. */
  fail(error: unknown): void {
    this.#ended.abort(error ?? this.#stoppedError())
  }

  stop(): Promise<void> {
    if (this.#state.kind === 'stopped') return this.#state.done
    const done = this.#close(this.#state)
    this.#state = { kind: 'stopped', done }
    return done
  }

  /** Ends with the job, too. */
  untilEnded(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#ended.signal : AbortSignal.any([this.#ended.signal, signal])
  }

  async #close(state: State<Running>): Promise<void> {
    this.#signal?.removeEventListener('abort', this.#stopOnAbort)
    if (state.kind === 'idle' || state.kind === 'stopped') return
    const running =
      state.kind === 'running' ? state.running : await state.started.catch(() => undefined)
    if (running === undefined) return
    this.fail(undefined)
    await running.close()
  }

  #isStarting(): boolean {
    return this.#state.kind === 'starting'
  }

  #stoppedError(): HostStoppedError {
    return new HostStoppedError(`${this.#name} was stopped`)
  }
}
