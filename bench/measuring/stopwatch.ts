/** Milliseconds of the machine's monotonic clock: the same in every process, so that they compare. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Repeats synchronous `work`, which returns how many items it did, for about `seconds`. Items per second. */
export function rateOf(work: () => number, seconds: number): number {
  const started = machineMs()
  const end = started + seconds * 1000
  let items = 0
  do items += work()
  while (machineMs() < end)
  return (items / (machineMs() - started)) * 1000
}

/** Runs `writers` loops of `operation` beside each other for about `seconds`. */
export async function rateOfConcurrent(
  operation: (writer: number) => Promise<number>,
  { writers, seconds }: { readonly writers: number; readonly seconds: number },
): Promise<ConcurrentRate> {
  const started = machineMs()
  const end = started + seconds * 1000
  const latenciesMs: number[] = []
  let items = 0
  const loop = async (writer: number): Promise<void> => {
    for (let now = machineMs(); now < end;) {
      // Not `items += await …`: that would read the sum before the others have added to it.
      const done = await operation(writer)
      items += done
      const after = machineMs()
      latenciesMs.push(after - now)
      now = after
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => loop(writer)))
  return { perSecond: (items / (machineMs() - started)) * 1000, latenciesMs }
}

export interface ConcurrentRate {
  readonly perSecond: number
  readonly latenciesMs: readonly number[]
}
