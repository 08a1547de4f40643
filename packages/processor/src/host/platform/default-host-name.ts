import { hostname } from 'node:os'
import type { Random } from '@tidemark/contracts'

/** The name of a host that was given none: no other host has it, on this machine or elsewhere. */
export function defaultHostName(random: Random): string {
  return `${hostname()}-${process.pid}-${random.hex(4)}`
}
