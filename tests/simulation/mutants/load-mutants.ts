import type { Mutant } from './mutant.ts'

/** Rules of balancing by load. */
export const LOAD_MUTANTS: readonly Mutant[] = [
  {
    name: 'load-moves-overshoot',
    why: 'a lease that costs more than the difference of two hosts goes to and fro (PH-14)',
    edits: [
      {
        file: 'load-balancing/plan-by-load.ts',
        find: 'const limit = Math.min(1.5 * ideal, 0.75 * gap * taker.weight)',
        replace: 'const limit = 100 * gap',
      },
    ],
    killedBy: 42,
  },
]
