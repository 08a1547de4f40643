import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { DemoPlan } from './demo-plan.ts'
import type { ChildMessage, ParentMessage } from './messages.ts'

/** A process of the demo. */
export class DemoProcess {
  readonly name: string
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  #errors = ''

  constructor(
    module: URL,
    name: string,
    plan: DemoPlan,
    onMessage: (message: ChildMessage, from: string) => void,
  ) {
    this.name = name
    const path = fileURLToPath(module)
    this.#child = fork(path, [name, JSON.stringify(plan)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#exited = once(this.#child, 'exit')
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-4_000)
    })
    this.#child.on('message', (message: ChildMessage) => onMessage(message, name))
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** What it wrote on its error output, the end of it. */
  get errors(): string {
    return this.#errors.trim()
  }

  tell(message: ParentMessage): void {
    this.#child.send(message)
  }

  kill(signal: 'SIGKILL' | 'SIGTERM'): void {
    this.#child.kill(signal)
  }

  /** How it ended: its exit code, or the signal that ended it. */
  async ended(): Promise<number | string> {
    await this.#exited
    return this.#child.exitCode ?? this.#child.signalCode ?? 'unknown'
  }
}
