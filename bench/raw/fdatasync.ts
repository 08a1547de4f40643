import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { rateOf } from '../measuring/stopwatch.ts'

/** Appends of 4 KB, each followed by `fdatasync`, per second: no durable commit can be faster. */
export function measureFdatasync(folder: string, seconds: number): number {
  const file = openSync(join(folder, 'fdatasync.bin'), 'w')
  const block = Buffer.alloc(4096, 1)
  try {
    return rateOf(() => {
      writeSync(file, block)
      fdatasyncSync(file)
      return 1
    }, seconds)
  } finally {
    closeSync(file)
  }
}
