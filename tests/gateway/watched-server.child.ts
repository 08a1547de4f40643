/* Loaded before `tidemark serve` by tests: tells what the server holds, and ends it with the test. */

/** What a process holds after a collection of garbage. */
export interface HeldResources {
  readonly heapBytes: number
  /** Kinds of what keeps the event loop busy, with how many there are. */
  readonly resources: Readonly<Record<string, number>>
}

process.on('message', () => {
  globalThis.gc?.()
  globalThis.gc?.()
  const resources: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
  process.send?.({ heapBytes: process.memoryUsage().heapUsed, resources } satisfies HeldResources)
})
process.on('disconnect', () => process.exit(1))
// To listen to the parent is not what keeps the server alive.
process.channel?.unref()
