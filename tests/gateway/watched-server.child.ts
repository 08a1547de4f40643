/* Loaded before `tidemark serve` by tests: tells what the server holds and does, and ends it with the test. */

/** What a process holds after a collection of garbage. */
export interface HeldResources {
  readonly heapBytes: number
  /** Kinds of what keeps the event loop busy, with how many there are. */
  readonly resources: Readonly<Record<string, number>>
  /** The most that was computed between two turns of the event loop since it is watched, in ms of processor time. */
  readonly longestStretchMs: number
}

/** In ms of processor time, of the thread of the event loop. */
export interface SpentTime {
  readonly processorMs: number
  /** The most that was computed between two turns of the event loop since it is watched. */
  readonly longestStretchMs: number
}

let longestStretchMs = 0

function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

let turnBeganMs: number | undefined

/** A timer runs once a turn of the event loop; what else the machine does is no part of the processor's time. */
function watchStretches(): void {
  const isWatched = turnBeganMs !== undefined
  turnBeganMs = processorMs()
  longestStretchMs = 0
  if (isWatched) return
  setInterval(() => {
    const now = processorMs()
    longestStretchMs = Math.max(longestStretchMs, now - (turnBeganMs ?? now))
    turnBeganMs = now
  }, 1).unref()
}

process.on('message', (message) => {
  if (message === 'watch') {
    watchStretches()
    return
  }
  if (message === 'spent') {
    // After the turn that this came in.
    setTimeout(() => {
      process.send?.({ processorMs: processorMs(), longestStretchMs } satisfies SpentTime)
    }, 2)
    return
  }
  globalThis.gc?.()
  globalThis.gc?.()
  const resources: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
  const heapBytes = process.memoryUsage().heapUsed
  process.send?.({ heapBytes, resources, longestStretchMs } satisfies HeldResources)
})
process.on('disconnect', () => process.exit(1))
// To listen to the parent is not what keeps the server alive.
process.channel?.unref()
