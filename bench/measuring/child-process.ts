import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

type Answer<Reply> = { readonly reply: Reply } | { readonly error: string }

/** A process of ours that answers one request at a time. */
export class BenchChild<Request extends object, Reply> implements AsyncDisposable {
  readonly #process: ChildProcess
  #waiting: PromiseWithResolvers<Reply> | undefined

  private constructor(process: ChildProcess) {
    this.#process = process
    process.on('message', (message) => this.#settle(message as Answer<Reply>))
    process.on('exit', (code) => this.#settle({ error: `a bench process ended with ${code}` }))
  }

  /** Starts `file`, a script that calls `serveParent`, and waits until it does. */
  static async start<Request extends object, Reply>(
    file: URL,
    { env }: { readonly env?: NodeJS.ProcessEnv | undefined } = {},
  ): Promise<BenchChild<Request, Reply>> {
    // `execArgv` is passed on by default, so that the child too runs the sources.
    const child = fork(file, { env: { ...process.env, ...env }, serialization: 'advanced' })
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => {
        throw new Error(`${file.pathname} ended with ${String(code)} before it was ready`)
      }),
    ])
    return new BenchChild(child)
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** Resolves when the process is gone, also when it was stopped. */
  async kill(): Promise<void> {
    if (this.#isGone) return
    const exited = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exited
  }

  call(request: Request): Promise<Reply> {
    const waiting = Promise.withResolvers<Reply>()
    this.#waiting = waiting
    this.#process.send(request)
    return waiting.promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isGone) return
    const exited = once(this.#process, 'exit')
    this.#process.disconnect()
    await exited
  }

  get #isGone(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  #settle(answer: Answer<Reply>): void {
    if ('error' in answer) this.#waiting?.reject(new Error(answer.error))
    else this.#waiting?.resolve(answer.reply)
    this.#waiting = undefined
  }
}

/** The child's side: answers each request; ends when the parent disconnects. */
export function serveParent<Request, Reply>(handle: (request: Request) => Promise<Reply>): void {
  process.on('message', (request: Request) => {
    handle(request).then(
      (reply) => process.send?.({ reply }),
      (error: unknown) =>
        process.send?.({
          error: error instanceof Error ? (error.stack ?? error.message) : String(error),
        }),
    )
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.('ready')
}
