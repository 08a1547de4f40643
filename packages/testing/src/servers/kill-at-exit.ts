import type { ChildProcess } from 'node:child_process'

/**
 * Kills child processes when this process ends, however many they are, with one listener. Children
 * that ended already need not be taken out.
 */
export class KillAtExit {
  readonly #children = new Set<ChildProcess>()
  readonly #kill = (): void => {
    for (const child of this.#children) child.kill('SIGKILL')
  }

  add(child: ChildProcess): void {
    if (this.#children.size === 0) process.on('exit', this.#kill)
    this.#children.add(child)
    child.once('exit', () => {
      this.#children.delete(child)
      if (this.#children.size === 0) process.off('exit', this.#kill)
    })
  }
}
