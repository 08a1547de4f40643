import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../packages/tidemark/src/cli/main.ts', import.meta.url))

/** The command as a process of its own. */
export class RunningCommand {
  static readonly #running: RunningCommand[] = []

  readonly #child
  readonly #closed
  #output = ''
  #errors = ''

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.#child = spawn(process.execPath, ['--conditions=@tidemark/source', MAIN, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    this.#closed = once(this.#child, 'close')
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text
    })
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
    })
    RunningCommand.#running.push(this)
  }

  /** Resolves with the address that it prints, when it answers. */
  async endpoint(): Promise<string> {
    for (;;) {
      const [found] = /https?:\/\/[^"\s;,]+/.exec(this.#output) ?? []
      if (found !== undefined) return found
      if (this.#child.exitCode !== null) throw new Error(`it ended: ${this.#errors}`)
      await Promise.race([once(this.#child.stdout, 'data'), this.#closed])
    }
  }

  /** Resolves with its exit code. */
  async ended(): Promise<number | null> {
    await this.#closed
    return this.#child.exitCode
  }

  end(signal: 'SIGTERM'): Promise<number | null> {
    this.#child.kill(signal)
    return this.ended()
  }

  /** For after each test. */
  static async killAll(): Promise<void> {
    for (const command of RunningCommand.#running.splice(0)) {
      command.#child.kill('SIGKILL')
      await command.#closed
    }
  }
}
