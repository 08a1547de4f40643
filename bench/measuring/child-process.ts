import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** A process of ours that answers one request at a time. */
export class BenchChild<Request extends object, Reply> implements AsyncDisposable {
  readonly #process: ChildProcess

  private constructor(process: ChildProcess) {
    this.#process = process
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

  async call(request: Request): Promise<Reply> {
    const reply = once(this.#process, 'message')
    this.#process.send(request)
    const [answer] = (await Promise.race([
      reply,
      once(this.#process, 'exit').then(([code]) => {
        throw new Error(`a bench process ended with ${String(code)} in the middle of a request`)
      }),
    ])) as [{ readonly reply: Reply } | { readonly error: string }]
    if ('error' in answer) throw new Error(answer.error)
    return answer.reply
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return
    const exited = once(this.#process, 'exit')
    this.#process.disconnect()
    await exited
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
