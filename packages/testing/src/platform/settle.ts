/**
 * Resolves when every promise reaction that is ready has run, and immediates that they queued, `turns`
 * deep. Work that waits for a socket, a file or a worker is not waited for.
 */
export async function settle(turns = 1): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
}
