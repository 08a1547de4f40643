import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { READ_ONLY_KEY, SERVED_KEY } from './signed-request.ts'
import type { HeldResources, SpentTime } from './watched-server.child.ts'

const MAIN = fileURLToPath(new URL('../../packages/tidemark/src/cli/main.ts', import.meta.url))
const WATCHED = new URL('watched-server.child.ts', import.meta.url).href

export interface ServingOptions {
  /** A folder; undefined: in memory. */
  readonly folder?: string | undefined
  /** Further arguments of `tidemark serve`. */
  readonly args?: readonly string[] | undefined
}

/** What a server holds, seen from inside and from outside. */
export interface ServerUsage extends HeldResources {
  readonly rssBytes: number
  readonly openFiles: number
}

/** `tidemark serve` as a process of its own that may be killed; it ends with this one. */
export class ServingProcess implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #keyFolder: string
  #endpoint = ''
  #amqp = ''
  #admin = ''
  #errors = ''

  private constructor(child: ChildProcess, keyFolder: string) {
    this.#child = child
    this.#keyFolder = keyFolder
    this.#exited = once(child, 'exit')
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
    })
  }

  /** Resolves when it answers. Rejects with what it said when it ends instead. */
  static async start({ folder, args = [] }: ServingOptions = {}): Promise<ServingProcess> {
    const keyFolder = await mkdtemp(join(tmpdir(), 'tidemark-key-'))
    const keyFile = join(keyFolder, 'key')
    await writeFile(keyFile, SERVED_KEY, { mode: 0o600 })
    const readOnlyKeyFile = join(keyFolder, 'read-only-key')
    await writeFile(readOnlyKeyFile, READ_ONLY_KEY, { mode: 0o600 })
    const place = folder ?? '--memory'
    const keys = ['--key-file', keyFile, '--read-only-key-file', readOnlyKeyFile]
    const serve = ['serve', place, '--port', '0', ...keys, '--json', ...args]
    const node = ['--conditions=@tidemark/source', '--expose-gc', '--import', WATCHED]
    const child = spawn(process.execPath, [...node, MAIN, ...serve], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const serving = new ServingProcess(child, keyFolder)
    try {
      const { endpoint, amqp = '', admin = '' } = await serving.#firstLine()
      serving.#endpoint = endpoint
      serving.#amqp = amqp
      serving.#admin = admin
    } catch (error) {
      await serving.kill()
      throw error
    }
    return serving
  }

  get endpoint(): string {
    return this.#endpoint
  }

  get port(): number {
    return Number(new URL(this.#endpoint).port)
  }

  /** With `--admin-port`. */
  get adminPort(): number {
    return Number(new URL(this.#admin).port)
  }

  /** With `--amqp-port`. */
  get amqpPort(): number {
    return Number(new URL(this.#amqp).port)
  }

  /** All that it wrote on its error output, since that was forgotten. */
  get errors(): string {
    return this.#errors
  }

  forgetErrors(): void {
    this.#errors = ''
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** How it ended, for people. */
  get ending(): string {
    return `${this.#child.signalCode ?? `exit code ${this.#child.exitCode}`}: ${this.#errors}`
  }

  /** From now on, once more, the time between turns of its event loop is taken. */
  watch(): void {
    this.#child.send('watch')
  }

  async spent(): Promise<SpentTime> {
    const reply = once(this.#child, 'message')
    this.#child.send('spent')
    const [spent] = (await reply) as [SpentTime]
    return spent
  }

  /** What it holds after a collection of garbage. Rejects when it does not answer in time. */
  async usage(timeoutMs: number): Promise<ServerUsage> {
    const reply = once(this.#child, 'message', { signal: AbortSignal.timeout(timeoutMs) })
    this.#child.send('measure')
    const [held] = (await reply) as [HeldResources]
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8')
    const [, rssKib = 'NaN'] = /VmRSS:\s+(\d+)/.exec(status) ?? []
    const files = await readdir(`/proc/${this.#child.pid}/fd`)
    return { ...held, rssBytes: Number(rssKib) * 1024, openFiles: files.length }
  }

  /** SIGTERM; resolves with its exit code. */
  async terminate(): Promise<number | null> {
    this.#child.kill('SIGTERM')
    await this.#exited
    await this.#removeKey()
    return this.#child.exitCode
  }

  /** SIGKILL in the midst of what it does. */
  async kill(): Promise<void> {
    if (!this.hasEnded) this.#child.kill('SIGKILL')
    if (!this.hasEnded) await this.#exited
    await this.#removeKey()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  #removeKey(): Promise<void> {
    return rm(this.#keyFolder, { recursive: true, force: true })
  }

  async #firstLine(): Promise<FirstLine> {
    let output = ''
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    while (!output.includes('\n')) {
      if (this.hasEnded) throw new Error(`tidemark serve ended: ${this.ending}`)
      if (this.#child.stdout !== null) {
        await Promise.race([once(this.#child.stdout, 'data'), this.#exited])
      }
    }
    return JSON.parse(output) as FirstLine
  }
}

interface FirstLine {
  readonly endpoint: string
  readonly amqp?: string
  readonly admin?: string
}
