import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'

/** A program in a process of its own. */
export interface StartedProgram {
  /** What it has printed, errors too. */
  readonly lines: readonly string[]
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string | null>
  /** Resolves when a line is printed; rejects when the program ends without it. */
  printed(line: RegExp): Promise<void>
  /** Sends SIGTERM, or another signal, and waits for the end. */
  end(signal?: NodeJS.Signals): Promise<number | string | null>
}

export function startProgram(
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): StartedProgram {
  const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close').then(() => child.exitCode ?? child.signalCode)
  const lines: string[] = []
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => lines.push(line))
  }
  const isPrinted = (line: RegExp): boolean => lines.some((one) => line.test(one))
  return {
    lines,
    ended,
    async printed(line) {
      await expect
        .poll(() => isPrinted(line) || child.exitCode !== null, { timeout: 60_000 })
        .toBe(true)
      if (!isPrinted(line)) {
        throw new Error(`ended with ${child.exitCode} without ${line}:\n${lines.join('\n')}`)
      }
    },
    async end(signal = 'SIGTERM') {
      child.kill(signal)
      return ended
    },
  }
}
