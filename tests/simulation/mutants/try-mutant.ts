import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Mutant } from './mutant.ts'

/** What showed a mutant. */
export interface Kill {
  readonly seed: number
  readonly oracle: string
  readonly message: string
}

/** Which seeds: some, or all from one to another. */
export interface TriedSeeds {
  readonly seeds: readonly number[] | { readonly first: number; readonly last: number }
  /** A process that has not ended by then is killed, which shows the mutant too. @default 60_000 */
  readonly timeoutMs?: number | undefined
}

/**
 * Runs seeds against a mutant (undefined: against the code as it is), in a process of its own, until one of them is
 * violated; undefined when none is. A process that dies of the mutant is shown too: seed -1.
 *
 * Rejects when the mutant does not fit the sources any more.
 */
export function tryMutant(
  mutant: Pick<Mutant, 'name'> | undefined,
  { seeds, timeoutMs = 60_000 }: TriedSeeds,
): Promise<Kill | undefined> {
  const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
  const hook = mutant === undefined ? [] : ['--import', file('load-mutant.ts')]
  const which = 'first' in seeds ? `${seeds.first}-${seeds.last}` : seeds.join(',')
  const name = mutant?.name ?? 'none'
  const child = spawn(
    process.execPath,
    ['--conditions=@tidemark/source', ...hook, file('run-seeds.child.ts'), which],
    { env: { ...process.env, TIDEMARK_MUTANT: name }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let answer = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => (answer += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      const line = answer.trim().split('\n').at(-1) ?? ''
      if (code === 0 && line !== '') {
        // What run-seeds.child.ts printed.
        resolve((JSON.parse(line) as Kill | null) ?? undefined)
        return
      }
      // A mutant that does not fit, or that cannot be compiled, is our own mistake.
      if (/mutant |SyntaxError|ERR_MODULE_NOT_FOUND/.test(errors)) {
        reject(new Error(`mutant ${name}: ${errors.trim().slice(0, 2_000)}`))
        return
      }
      const how = signal === null ? `exit code ${code}` : `no end within ${timeoutMs} ms`
      resolve({ seed: -1, oracle: 'process', message: `${how}: ${errors.trim().slice(0, 500)}` })
    })
  })
}
