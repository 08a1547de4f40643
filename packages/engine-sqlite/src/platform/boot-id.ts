import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

/** Identifies the present boot of the machine: a different one means that unsynced writes are lost. */
export function bootId(): string {
  // Elsewhere the boot time, to the minute: it is computed from two clocks.
  return kernelBootId() ?? `started-${Math.round((Date.now() / 1000 - uptime()) / 60)}`
}

/** The kernel's own id of its present boot, which no two kernels share. Undefined where the kernel has none. */
export function kernelBootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}
