import type { SimulatedClock } from '@tidemark/testing'

/** Lets simulated time pass until `work` is done, which is to be within five minutes of it. */
export async function inTime<Value>(
  clock: SimulatedClock,
  work: Promise<Value>,
  { stepMs = 10 }: { readonly stepMs?: number } = {},
): Promise<Value> {
  let settled = false
  const watched = work.finally(() => {
    settled = true
  })
  watched.catch(() => {})
  if (!(await clock.advanceUntil(() => settled, { limitMs: 300_000, stepMs }))) {
    throw new Error('not done after five simulated minutes')
  }
  return watched
}
