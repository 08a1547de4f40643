import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

/** Only ends what hangs. */
const DEADLINE_MS = 300_000
/** What Node 22 says of each program in TypeScript, and the page does not show. */
const NODE_WARNING = /^\(node:\d+\) ExperimentalWarning|^\(Use `node --trace-warnings/

export interface Place {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

/** Runs a script of the shell to its end, and says where it ended. */
export async function runScript(
  script: string,
  { cwd, env }: Place,
): Promise<{ readonly cwd: string; readonly exitCode: number | null; readonly lines: string[] }> {
  const child = spawn('sh', ['-ec', `exec 2>&1\ntrap 'pwd >&3' EXIT\n${script}`], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    timeout: DEADLINE_MS,
  })
  const lines = linesOf(child.stdout)
  const places = linesOf(child.stdio[3])
  await once(child, 'close')
  return { cwd: places.at(-1) ?? cwd, exitCode: child.exitCode, lines }
}

/** A terminal with one command that keeps running. */
export class Terminal {
  readonly #child: ChildProcess
  readonly #lines: string[]
  readonly #ended: Promise<unknown>
  #read = 0

  constructor(command: string, { cwd, env }: Place) {
    // A group of its own, as in a terminal: Ctrl+C reaches everything that the command has started.
    this.#child = spawn('sh', ['-c', `exec 2>&1 ${command}`], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    this.#lines = linesOf(this.#child.stdout)
    this.#ended = once(this.#child, 'close')
  }

  /** What it has printed and nobody has read. */
  get unread(): readonly string[] {
    return this.#lines.slice(this.#read)
  }

  readAll(): void {
    this.#read = this.#lines.length
  }

  /** Sends a signal to all its processes, and waits for their end. */
  async end(signal: NodeJS.Signals): Promise<void> {
    try {
      process.kill(-(this.#child.pid ?? 0), signal)
    } catch (error) {
      // It has ended.
      if (Reflect.get(Object(error), 'code') !== 'ESRCH') throw error
    }
    const timer = setTimeout(() => void this.end('SIGKILL'), DEADLINE_MS)
    await this.#ended
    clearTimeout(timer)
  }
}

/** Resolves when it is so, or after a long time. */
export async function until(isSo: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + DEADLINE_MS
  while (!isSo() && performance.now() < deadlineMs) await sleep(50)
}

function linesOf(input: unknown): string[] {
  const lines: string[] = []
  createInterface({ input: input as NodeJS.ReadableStream }).on('line', (line) => {
    if (!NODE_WARNING.test(line)) lines.push(line)
  })
  return lines
}
