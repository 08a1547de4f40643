/** Resolves after everything that waits for the event loop had its turn: timers, sockets, messages of threads. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
