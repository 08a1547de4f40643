import { spawn, type ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'

/**
 * Kills processes when this one ends, in whatever way: also when it is killed itself and runs no exit listener.
 * A shell waits on a pipe that only this process holds; the end of the pipe is the end of this process.
 */
export class DeathWatch {
  readonly #shell: ChildProcess

  constructor() {
    // Deaf to what a terminal sends to all processes at once: it has to be the last.
    const script = `trap '' INT TERM HUP
while read -r line; do pids=$line; done
[ -z "$pids" ] || kill -9 $pids`
    this.#shell = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'] })
    this.#shell.unref()
    // Without it this process would wait for its own watch. Node's pipes are sockets, which their type does not say.
    const pipe = this.#shell.stdin
    if (pipe instanceof Socket) pipe.unref()
    pipe?.on('error', () => {})
  }

  /** From now on these and no others. */
  watch(pids: readonly number[]): void {
    this.#shell.stdin?.write(`${pids.join(' ')}\n`)
  }

  /** From now on nothing. */
  end(): void {
    this.#shell.stdin?.end('\n')
  }
}
