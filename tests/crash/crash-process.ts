import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A program in a process of its own that may be killed, with the messages it sends. */
export class CrashProcess<Message extends { readonly kind: string }> {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #messages: Message[] = []
  #errors = ''

  constructor(
    program: URL,
    task: object,
    { env = {} }: { readonly env?: Readonly<Record<string, string>> } = {},
  ) {
    this.#child = fork(fileURLToPath(program), [JSON.stringify(task)], {
      execArgv: ['--conditions=@tidemark/source'],
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#exited = once(this.#child, 'exit')
    this.#child.on('message', (message: Message) => this.#messages.push(message))
    this.#child.stderr?.on('data', (text: Buffer) => {
      this.#errors += text.toString()
    })
  }

  /** The next message, which must be of this kind. Rejects when the child ends instead. */
  async receive<Kind extends Message['kind']>(
    kind: Kind,
  ): Promise<Extract<Message, { readonly kind: Kind }>> {
    while (this.#messages.length === 0) {
      if (this.ended) throw new Error(`the child ended: ${this.#errors}`)
      await Promise.race([once(this.#child, 'message'), this.#exited])
    }
    const message = this.#messages.shift()
    if (message?.kind !== kind) throw new Error(`the child sent ${message?.kind}, not ${kind}`)
    return message as Extract<Message, { readonly kind: Kind }>
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  tell(text: string): void {
    // One that has ended is found by whoever waits for its answer.
    this.#child.send(text, () => {})
  }

  get ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Throws what it said when it has ended. */
  assertAlive(): void {
    if (this.ended) throw new Error(`the child ended by itself: ${this.#errors}`)
  }

  /** Kills it in the middle of what it does; rejects if it had ended by itself. */
  async kill(): Promise<void> {
    this.assertAlive()
    this.#child.kill('SIGKILL')
    await this.#exited
    if (this.#child.signalCode !== 'SIGKILL') {
      throw new Error(`the child ended with ${this.#child.signalCode ?? this.#child.exitCode}`)
    }
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal)
  }

  /** Resolves when it has ended by itself, without an error. */
  async finished(): Promise<void> {
    await this.#exited
    if (this.#child.exitCode !== 0) throw new Error(`the child failed: ${this.#errors}`)
  }

  /** For cleaning up. */
  end(): void {
    if (!this.ended) this.#child.kill('SIGKILL')
  }
}
