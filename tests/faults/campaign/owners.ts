import { until } from '../until.ts'
import type { Worker } from './worker.ts'

/** Waits until others have opened each of the leases again. Resolves with when the last one was. */
export async function untilTaken(
  others: readonly Worker[],
  leases: ReadonlyMap<string, number>,
): Promise<number> {
  const takings = (): readonly number[] => {
    const opens = others.flatMap((other) => other.entries('open'))
    return [...leases].map(
      ([lease, epoch]) =>
        opens.find((open) => open.lease === lease && open.epoch > epoch)?.atMs ?? Number.NaN,
    )
  }
  await until(() => takings().every((atMs) => !Number.isNaN(atMs)), {
    what: `${leases.size} leases taken by others`,
  })
  return Math.max(...takings())
}
