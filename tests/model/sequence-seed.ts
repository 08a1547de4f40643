/** Seed of one sequence of a run, so that neighbours have nothing in common. */
export function sequenceSeed(seed: number, sequence: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(sequence + 1, 0xc2b2ae35)
  mixed ^= mixed >>> 15
  return Math.imul(mixed, 0x2c1b3c6d) >>> 0
}
