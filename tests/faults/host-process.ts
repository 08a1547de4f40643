import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { entriesOf, HistoryReader, type HistoryEntry, type HistoryEntryOf } from './history.ts'
import { until } from './until.ts'

export interface HostProcessOptions {
  readonly hostName: string
  readonly group: string
  /** The store's folder; histories are kept beside it. */
  readonly folder: string
  /** Of Redis, or of a proxy in front of it; undefined: leases are documents in the folder. */
  readonly redisPort: number | undefined
  readonly renewMs: number
  readonly expirationMs: number
  readonly maxItemCount: number
  /** How long the observer works on a batch. */
  readonly observerMs: number
  /** Whether the observer asks for a checkpoint itself, too, and notes the answer. */
  readonly checkpointInObserver: boolean
}

/** Short, so that a test is; still four heartbeats in a session. */
export const FAULT_TIMES = { renewMs: 500, expirationMs: 2_000 } as const

/** Changes of a batch of these hosts at most. */
export const MAX_ITEM_COUNT = 20

const CHILD = fileURLToPath(new URL('./host.child.ts', import.meta.url))

/** One host in a process of its own. */
export class HostProcess implements AsyncDisposable {
  readonly name: string
  readonly #child: ChildProcess
  readonly #history: HistoryReader
  #errors = ''

  private constructor(options: HostProcessOptions, label: string) {
    this.name = label
    const historyFile = join(options.folder, `history-${label}.jsonl`)
    this.#history = new HistoryReader(historyFile)
    this.#child = spawn(
      process.execPath,
      ['--conditions=@tidemark/source', CHILD, JSON.stringify({ ...options, historyFile })],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    this.#child.stderr?.on('data', (text: Buffer) => {
      this.#errors += text.toString()
    })
  }

  /**
   * Starts a host and waits until `registerObserver` resolved.
   *
   * `label` names the process and its history where two processes have one host name.
   */
  static async start(options: HostProcessOptions, label?: string): Promise<HostProcess> {
    const host = new HostProcess(options, label ?? options.hostName)
    await until(() => host.events('registered').length > 0 || host.#ended, {
      what: `${host.name} registered`,
    })
    if (host.#ended) throw new Error(`${host.name} ended early: ${host.#errors}`)
    return host
  }

  get history(): readonly HistoryEntry[] {
    return this.#history.entries()
  }

  entries<Kind extends HistoryEntry['kind']>(kind: Kind): readonly HistoryEntryOf<Kind>[] {
    return entriesOf(this.history, kind)
  }

  events(name: string): readonly HistoryEntryOf<'event'>[] {
    return this.entries('event').filter((entry) => entry.name === name)
  }

  /** SIGTERM; resolves with the exit code after the graceful stop. */
  async terminate(): Promise<number | null> {
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    const [code] = (await exited) as [number | null]
    return code
  }

  async kill(): Promise<void> {
    if (this.#ended) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  /** The process does nothing from now on, and knows nothing of it. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  get #ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }
}
