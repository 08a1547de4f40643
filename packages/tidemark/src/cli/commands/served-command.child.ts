import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { COMMAND } from '../command-program.child.ts'
import { jsonLines } from './command-runner.child.ts'

/** A serving command, as a process of its own. */
export class Served {
  static readonly #running: Served[] = []

  readonly #child
  readonly #closed
  output = ''
  errors = ''

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.#child = spawn(process.execPath, [...COMMAND, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    this.#closed = once(this.#child, 'close')
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.output += text
    })
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text
    })
    Served.#running.push(this)
  }

  /** Resolves with what it prints first, when it answers. */
  async firstLine(): Promise<string> {
    while (!this.output.includes('\n')) {
      if (this.#child.exitCode !== null) throw new Error(`it ended: ${this.errors}`)
      await Promise.race([once(this.#child.stdout, 'data'), this.#closed])
    }
    return this.output.slice(0, this.output.indexOf('\n'))
  }

  /** Resolves with the endpoint that its first lines name. */
  async endpoint(): Promise<string> {
    await this.firstLine()
    return /https?:\/\/[^"\s;,]+/.exec(this.output)?.[0] ?? ''
  }

  /** Resolves with its first line, which is JSON. */
  async ready(): Promise<Record<string, unknown>> {
    return jsonLines(await this.firstLine())[0] ?? {}
  }

  async end(signal: 'SIGINT' | 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal)
    await this.#closed
    return this.#child.exitCode
  }

  /** For after each test. */
  static async killAll(): Promise<void> {
    for (const served of Served.#running.splice(0)) await served.kill()
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill('SIGKILL')
    await this.#closed
  }
}
