/** Calls `listener` for each promise that was rejected and has no handler, until the returned function is called. */
export function onUnhandledRejection(listener: (reason: unknown) => void): () => void {
  process.on('unhandledRejection', listener)
  return () => void process.off('unhandledRejection', listener)
}
