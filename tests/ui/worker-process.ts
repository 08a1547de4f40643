import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface Order {
  readonly id: string
  readonly customerId: string
  readonly total: number
}

export interface WorkerOptions {
  readonly folder: string
  readonly name: string
  readonly group: string
  /** What it does with orders of a negative total. */
  readonly failurePolicy: 'deadLetter' | 'haltRange'
  readonly maxRanges?: number
}

const CHILD = fileURLToPath(new URL('./worker.child.ts', import.meta.url))

/** A host in a process of its own. */
export class WorkerProcess implements AsyncDisposable {
  readonly #child: ChildProcess

  private constructor(options: WorkerOptions) {
    this.#child = spawn(
      process.execPath,
      ['--conditions=@tidemark/source', CHILD, JSON.stringify(options)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
  }

  /** Resolves when it has a range. */
  static async start(options: WorkerOptions): Promise<WorkerProcess> {
    const worker = new WorkerProcess(options)
    const ended = once(worker.#child, 'exit').then(() => {
      throw new Error(`${options.name} ended early`)
    })
    const { stdout } = worker.#child
    if (stdout !== null) await Promise.race([once(stdout, 'data'), ended])
    // From here on it may end.
    ended.catch(() => {})
    return worker
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill(signal)
    await exited
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}
