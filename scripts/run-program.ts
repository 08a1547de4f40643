import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'

export interface Outcome {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end. A code other than 0 is an outcome; that there is no such program is an error. */
export type Run = (
  command: string,
  args: readonly string[],
  options: RunOptions,
) => Promise<Outcome>

export interface RunOptions {
  readonly cwd: string
}

export const runProgram: Run = async (command, args, { cwd }) => {
  const env = { ...process.env, NO_COLOR: '1' }
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  return { code, stdout, stderr }
}

/** Its output without the last line break. @throws Error with what it said, when it fails */
export async function outputOf(
  run: Run,
  command: string,
  args: readonly string[],
  options: RunOptions,
): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, options)
  if (code === 0) return stdout.trimEnd()
  throw new Error(`${command} ${args.join(' ')} failed with ${code}:\n${stdout}${stderr}`.trimEnd())
}
