import { expect, test } from 'vitest'
import { judgeSeries, lineOf } from '../soak-verdict.ts'
import { runAmqpSoak } from './run-amqp-soak.ts'

test('the AMQP soak runs: clients come, go and break off, nothing is missing, and each slope is printed', async () => {
  const { series, happened, wrong } = await runAmqpSoak({
    durationMs: 8_000,
    warmUpMs: 0,
    sampleEveryMs: 500,
  })
  console.log(series.map((each) => lineOf(judgeSeries(each))).join('\n'))
  console.log(happened)
  expect(wrong).toEqual([])
  for (const [what, count] of Object.entries(happened)) expect(count, what).toBeGreaterThan(0)
  expect(series.map(({ measure }) => measure)).toEqual(
    expect.arrayContaining(['heap after gc', 'resident', 'resources', 'rhea links']),
  )
})
