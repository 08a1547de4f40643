import type { JoinedWorker } from './worker.ts'

export interface LoopParts {
  readonly gate: Promise<void>
  /** Takes, handles and acknowledges one page, or waits a moment when there is none. */
  readonly turn: () => Promise<void>
  readonly close: () => Promise<void> | void
}

/** The usual worker: a loop that ends after the page at hand. */
export function loopingWorker({ gate, turn, close }: LoopParts): JoinedWorker {
  let isEnding = false
  const left = Promise.withResolvers<void>()
  const loop = async (): Promise<void> => {
    await Promise.race([gate, left.promise])
    while (!isEnding) await turn()
  }
  const ended = loop()
  // A loop that fails ends its process, so that the bench ends too.
  ended.catch((error: unknown) => {
    throw error
  })
  return {
    shares: undefined,
    async [Symbol.asyncDispose]() {
      isEnding = true
      left.resolve()
      await ended
      await close()
    },
  }
}
