/** Resolves after the event loop has handled everything that waits for it: timers, sockets, messages of threads. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
