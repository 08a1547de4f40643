import type { City } from './city.ts'

/** What the child processes tell the demo. */
export type ChildMessage =
  | { readonly kind: 'ready' }
  /** A worker got a range; each pair of range and epoch is one owner's turn at it. */
  | { readonly kind: 'rangeAcquired'; readonly leaseId: string; readonly epoch: number }
  | { readonly kind: 'failure'; readonly what: string; readonly message: string }
  /** The writer's ledger: the last acknowledged version of each city that it wrote. */
  | { readonly kind: 'ledger'; readonly writes: number; readonly cities: readonly City[] }
  /** How many writes were acknowledged so far. */
  | { readonly kind: 'written'; readonly writes: number }

/** What the demo tells them. */
export type ParentMessage = { readonly kind: 'stop' }

/** Tells the demo something; resolves when it is on its way. */
export async function tellParent(message: ChildMessage): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    if (process.send === undefined) throw new Error('this process was not started by the demo')
    process.send(message, (error: Error | null) => (error === null ? resolve() : reject(error)))
  })
}
