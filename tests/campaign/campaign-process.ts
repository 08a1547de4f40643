import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

interface Told {
  readonly kind: string
}

/**
 * A program in a process of its own that a campaign may kill or stop. It gets its task as JSON in its first argument, runs the sources,
 * and may send messages. Its standard input ends when this process does, however that ends.
 */
export class CampaignProcess<Message extends Told = Told> implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #messages: Message[] = []
  #errors = ''
  #isEnding = false

  constructor(
    program: URL,
    task: object,
    { env = {} }: { readonly env?: Readonly<Record<string, string>> } = {},
  ) {
    const args = ['--conditions=@tidemark/source', '--expose-gc', fileURLToPath(program)]
    this.#child = spawn(process.execPath, [...args, JSON.stringify(task)], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
    })
    this.#exited = once(this.#child, 'exit')
    this.#child.on('message', (message: Message) => this.#messages.push(message))
    this.#child.stderr?.on('data', (text: Buffer) => {
      this.#errors += text.toString()
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** The exit code and error output of a process that ended without being told to; else undefined. */
  get diedSaying(): string | undefined {
    if (!this.hasEnded || this.#isEnding) return undefined
    return `exit code ${this.#child.exitCode}: ${this.#errors}`
  }

  /** Throws what it said when it has ended. */
  assertAlive(): void {
    if (this.hasEnded) throw new Error(`a process ended by itself: ${this.#errors}`)
  }

  /** The next message, which must be of this kind. Rejects when the process ends instead. */
  async receive<Kind extends Message['kind']>(
    kind: Kind,
  ): Promise<Extract<Message, { readonly kind: Kind }>> {
    const message = await this.reply()
    if (message.kind !== kind) throw new Error(`a process sent ${message.kind}, not ${kind}`)
    return message as Extract<Message, { readonly kind: Kind }>
  }

  /** The next message, of any kind. */
  async reply(): Promise<Message> {
    while (this.#messages.length === 0) {
      this.assertAlive()
      await Promise.race([once(this.#child, 'message'), this.#exited])
    }
    return this.#messages.shift()!
  }

  /** Sends it a message. If it has ended, the next wait for its answer fails. */
  tell(message: object | string): void {
    this.#child.send(message, () => {})
  }

  /** Suspends it (SIGSTOP). */
  pause(): void {
    this.assertAlive()
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** Kills it in the middle of what it does; rejects if it had ended by itself. */
  async kill(): Promise<void> {
    this.assertAlive()
    await this.end()
    if (this.#child.signalCode !== 'SIGKILL') {
      throw new Error(`a process ended with ${this.#child.signalCode ?? this.#child.exitCode}`)
    }
  }

  /** SIGTERM; resolves when it has ended by itself, without an error. */
  async terminate(): Promise<void> {
    this.assertAlive()
    this.#isEnding = true
    this.#child.kill('SIGTERM')
    await this.finished()
  }

  /** Resolves when it has ended by itself, without an error. */
  async finished(): Promise<void> {
    await this.#exited
    if (this.#child.exitCode !== 0) throw new Error(`a process failed: ${this.#errors}`)
  }

  /** For cleaning up. */
  async end(): Promise<void> {
    this.#isEnding = true
    if (!this.hasEnded) this.#child.kill('SIGKILL')
    await this.#exited
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end()
  }
}
