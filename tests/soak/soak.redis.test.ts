import { expect, test } from 'vitest'
import { runSoak } from './run-soak.ts'
import { judgeSeries, lineOf } from './soak-verdict.ts'

test('PH-4 PH-10 the soak runs: hosts are killed, ranges split, batches fail, nothing is lost, and each slope is printed', async () => {
  const { series, happened, wrong } = await runSoak({
    durationMs: 5_000,
    warmUpMs: 1_000,
    sampleEveryMs: 500,
    killEveryMs: 1_500,
    reshapeEveryMs: 400,
    rejoinEveryMs: 1_500,
    changesPerSecond: 200,
  })
  console.log(series.map((each) => lineOf(judgeSeries(each))).join('\n'))
  console.log(happened)
  expect(wrong).toEqual([])
  const { failedBatches, ...certain } = happened
  expect(failedBatches).toBeGreaterThanOrEqual(0)
  for (const [what, count] of Object.entries(certain)) expect(count, what).toBeGreaterThan(0)
  const measures = (name: string): readonly string[] =>
    series.filter(({ process }) => process === name).map(({ measure }) => measure)
  for (const name of ['steady-1', 'steady-2', 'writer']) {
    expect(measures(name)).toEqual(
      expect.arrayContaining(['heap after gc', 'resident', 'resources']),
    )
  }
  expect(measures('redis')).toEqual(['redis memory', 'redis clients'])
  // Nothing is said of so short a time, but that there is something to say it of.
  for (const { points } of series) expect(points.length).toBeGreaterThan(2)
})
