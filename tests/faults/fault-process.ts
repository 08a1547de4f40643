import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { HistoryReader, type HistoryEntry } from './history.ts'
import { until } from './until.ts'

/** What every program is started with. */
export interface FaultProcessTask {
  /** Its own, appended to. It notes the event `started` there when it has. */
  readonly historyFile: string
}

export type FaultProgram =
  | 'gateway/gateway.child.ts'
  | 'gateway/remote-host.child.ts'
  | 'ranges/range-host.child.ts'
  | 'ranges/range-changer.child.ts'
  | 'expiry/poller.child.ts'
  | 'expiry/sweeper.child.ts'
  | 'expiry/catch-up.child.ts'
  | '../soak/soak-host.child.ts'
  | 'campaign/worker.child.ts'
  | 'campaign/large-writer.child.ts'
  | 'campaign/log-reader.child.ts'
  | 'dead-letters/poison-host.child.ts'
  | 'rivals/counter.child.ts'
  | 'rivals/fenced-writer.child.ts'

/** One process that is going to be killed, and its history. */
export class FaultProcess<Task extends FaultProcessTask> {
  readonly #child: ChildProcess
  readonly #history: HistoryReader
  #errors = ''
  #isEnding = false

  private constructor(program: FaultProgram, task: Task) {
    const path = fileURLToPath(new URL(program, import.meta.url))
    this.#history = new HistoryReader(task.historyFile)
    this.#child = spawn(
      process.execPath,
      ['--conditions=@tidemark/source', '--expose-gc', path, JSON.stringify(task)],
      // The last is for `tell`.
      { stdio: ['pipe', 'ignore', 'pipe', 'ipc'] },
    )
    this.#child.stderr?.on('data', (text: Buffer) => {
      this.#errors += text.toString()
    })
  }

  /** Resolves when it says that it has started. */
  static async start<Task extends FaultProcessTask>(
    program: FaultProgram,
    task: Task,
  ): Promise<FaultProcess<Task>> {
    const started = new FaultProcess(program, task)
    try {
      await until(
        () => started.events('started') > 0 || started.hasEnded,
        // Hosts that wait for leases of a killed one start late.
        { what: `${program} started` },
      )
    } catch (error) {
      await started.end()
      throw error
    }
    started.assertAlive()
    return started
  }

  get history(): readonly HistoryEntry[] {
    return this.#history.entries()
  }

  /** How often an event was noted. */
  events(name: string): number {
    return this.history.filter((entry) => entry.kind === 'event' && entry.name === name).length
  }

  assertAlive(): void {
    if (this.hasEnded) throw new Error(`a process ended by itself: ${this.#errors}`)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Sends it a message, for programs that listen to some. */
  tell(message: object): void {
    this.assertAlive()
    this.#child.send(message)
  }

  /** Resolves with its next message. */
  async reply(): Promise<unknown> {
    const [message] = (await once(this.#child, 'message')) as [unknown]
    return message
  }

  /** Stops it in its tracks. */
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
    if (!this.hasEnded) await once(this.#child, 'exit')
    if (this.#child.exitCode !== 0) throw new Error(`a process failed: ${this.#errors}`)
  }

  /** For cleaning up. */
  async end(): Promise<void> {
    if (this.hasEnded) return
    this.#isEnding = true
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  /** What it said when it ended although nobody ended it; undefined when it did not. */
  get diedSaying(): string | undefined {
    return this.hasEnded && !this.#isEnding
      ? `exit code ${this.#child.exitCode}: ${this.#errors}`
      : undefined
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }
}
