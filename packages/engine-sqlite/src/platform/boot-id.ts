import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

/** Identifies the present boot of the machine: a different one means that unsynced writes are lost. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Elsewhere the boot time, to the minute: it is computed from two clocks.
    return `started-${Math.round((Date.now() / 1000 - uptime()) / 60)}`
  }
}
