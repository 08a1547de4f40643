import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Mutant } from './mutant.ts'

/** What showed a mutant. */
export interface Kill {
  readonly seed: number
  /** O1 to O13, or `process`: the schedule did not come to an end, or ended the process. */
  readonly oracle: string
  readonly message: string
}

/** Child to parent: which seed comes now, or what came of all. */
export type Attempt = { readonly seed: number } | { readonly kill: Kill | null }

/** Which seeds: some, or all from one to another. */
export type TriedSeeds = readonly number[] | { readonly first: number; readonly last: number }

/** A schedule that takes so long runs in circles: as a rule it takes some milliseconds. */
const STUCK_MS = 60_000

/**
 * Runs seeds against a mutant (undefined: against the code as it is), in a process of its own, until one of them is
 * violated; undefined when none is.
 *
 * Rejects when the mutant does not fit the sources any more.
 */
export function tryMutant(
  mutant: Pick<Mutant, 'name'> | undefined,
  seeds: TriedSeeds,
): Promise<Kill | undefined> {
  const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
  const hook = mutant === undefined ? [] : ['--import', file('load-mutant.ts')]
  const which = 'first' in seeds ? `${seeds.first}-${seeds.last}` : seeds.join(',')
  const name = mutant?.name ?? 'none'
  const child = fork(file('run-seeds.child.ts'), [which], {
    execArgv: ['--conditions=@tidemark/source', '--max-old-space-size=512', ...hook],
    env: { ...process.env, TIDEMARK_MUTANT: name },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let errors = ''
  let seed: number | undefined
  let answer: Kill | null | undefined
  const stuck = (): void => void child.kill('SIGKILL')
  let timer = setTimeout(stuck, STUCK_MS)
  child.stderr?.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4_000)))
  child.on('message', (attempt: Attempt) => {
    clearTimeout(timer)
    if ('kill' in attempt) answer = attempt.kill
    else ({ seed } = attempt)
    timer = setTimeout(stuck, STUCK_MS)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (answer !== undefined) resolve(answer ?? undefined)
      // Before the first seed it is the mutant that does not fit, or our own mistake.
      else if (seed === undefined) reject(new Error(`mutant ${name}: ${errors.trim()}`))
      else {
        const how = signal === null ? `exit code ${code}` : `ended by ${signal}`
        const message = `${how}: ${errors.trim().split('\n').slice(-3).join(' ')}`
        resolve({ seed, oracle: 'process', message })
      }
    })
  })
}
