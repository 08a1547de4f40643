import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { readHistory, type HistoryEntry } from '../history.ts'
import { until } from '../until.ts'
import type { RangeProcessTask } from './range-tasks.ts'

/** One process that is going to be killed, and its history. */
export class FaultProcess<Task extends RangeProcessTask> {
  readonly #child: ChildProcess
  readonly #historyFile: string
  #errors = ''

  private constructor(program: 'range-host.child.ts' | 'range-changer.child.ts', task: Task) {
    const path = fileURLToPath(new URL(program, import.meta.url))
    this.#historyFile = task.historyFile
    this.#child = spawn(
      process.execPath,
      ['--conditions=@tidemark/source', path, JSON.stringify(task)],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    )
    this.#child.stderr?.on('data', (text: Buffer) => {
      this.#errors += text.toString()
    })
  }

  /** Resolves when it says that it has started. */
  static async start<Task extends RangeProcessTask>(
    program: 'range-host.child.ts' | 'range-changer.child.ts',
    task: Task,
  ): Promise<FaultProcess<Task>> {
    const started = new FaultProcess(program, task)
    await until(
      () => started.events('started') > 0 || started.#ended,
      // Hosts that wait for leases of a killed one start late.
      { what: `${program} started`, timeoutMs: 30_000 },
    )
    started.assertAlive()
    return started
  }

  get history(): readonly HistoryEntry[] {
    return readHistory(this.#historyFile)
  }

  /** How often an event was noted. */
  events(name: string): number {
    return this.history.filter((entry) => entry.kind === 'event' && entry.name === name).length
  }

  assertAlive(): void {
    if (this.#ended) throw new Error(`a process ended by itself: ${this.#errors}`)
  }

  /** Kills it in the middle of what it does; rejects if it had ended by itself. */
  async kill(): Promise<void> {
    this.assertAlive()
    await this.end()
  }

  /** For cleaning up. */
  async end(): Promise<void> {
    if (this.#ended) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  get #ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }
}
