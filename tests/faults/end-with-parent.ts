import type { Socket } from 'node:net'

/** Ends this process when the one that started it is gone: a test that is killed kills nobody itself. */
export function endWithParent(): void {
  process.stdin.once('end', () => process.exit(1)).resume()
  // Not what keeps it alive. Its type does not say that it is a pipe here.
  if ('unref' in process.stdin) (process.stdin as Socket).unref()
}
