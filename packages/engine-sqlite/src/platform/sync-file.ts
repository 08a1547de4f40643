import { closeSync, constants, fdatasyncSync, openSync } from 'node:fs'

/**
 * Puts on disk what any process wrote to a file. Through a descriptor of its own: closing one releases the locks that
 * this process has on the file, so that it is for files that nobody locks.
 */
export function syncFile(file: string): void {
  // Absent on Windows.
  const noFollow = (constants.O_NOFOLLOW as number | undefined) ?? 0
  const descriptor = openSync(file, constants.O_RDWR | noFollow)
  try {
    fdatasyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
