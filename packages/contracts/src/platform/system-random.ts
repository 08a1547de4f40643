import { randomBytes } from 'node:crypto'
import type { Random } from '../random.ts'

/** Randomness from the operating system. */
export const systemRandom: Random = {
  fraction: () => Math.random(),
  hex: (bytes) => randomBytes(bytes).toString('hex'),
}
