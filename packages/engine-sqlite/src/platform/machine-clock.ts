import { hrtime } from 'node:process'

/** Monotonic ms that all processes of this machine's boot share. */
export function machineMs(): number {
  return Number(hrtime.bigint() / 1000n) / 1000
}
