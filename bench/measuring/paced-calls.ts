import { setTimeout as sleep } from 'node:timers/promises'
import { machineMs } from './stopwatch.ts'

export interface PacedCallOptions {
  /** Calls of each operation a second. */
  readonly perSecond: number
  /** Asked after every millisecond or so. */
  readonly isOver: () => boolean
}

/**
 * Starts calls of each operation at even distances, whether or not earlier ones are done, until `isOver`.
 * Returns how long each took in ms **from the moment at which it was due**: a call that could not even
 * be made because something held up this thread counts as late. Timers of 1 ms are part of the figures.
 */
export async function latenciesOfPaced<Name extends string>(
  operations: Readonly<Record<Name, (turn: number) => Promise<unknown>>>,
  { perSecond, isOver }: PacedCallOptions,
): Promise<Record<Name, number[]>> {
  const named = Object.entries(operations) as [Name, (turn: number) => Promise<unknown>][]
  const latenciesMs = Object.fromEntries(named.map(([name]) => [name, []])) as unknown as Record<
    Name,
    number[]
  >
  const pending: Promise<void>[] = []
  const started = machineMs()
  const perform = async (name: Name, turn: number, dueMs: number): Promise<void> => {
    await operations[name](turn)
    latenciesMs[name].push(machineMs() - dueMs)
  }
  for (let turn = 0; !isOver();) {
    const dueTurns = ((machineMs() - started) / 1000) * perSecond
    for (; turn <= dueTurns; turn++) {
      const dueMs = started + (turn / perSecond) * 1000
      for (const [name] of named) pending.push(perform(name, turn, dueMs))
    }
    await sleep(1)
  }
  await Promise.all(pending)
  return latenciesMs
}
