import { expect, test } from 'vitest'
import { PresentPkRanges } from './present-pk-ranges.ts'

const parent = { id: '0', minInclusive: '', maxExclusive: 'FF', parents: [] }
const low = { id: '1', minInclusive: '', maxExclusive: '20', parents: ['0'] }
const high = { id: '2', minInclusive: '20', maxExclusive: 'FF', parents: ['0'] }

test('a parent that is still listed beside its children does not hold their keys', async () => {
  const ranges = new PresentPkRanges(() => Promise.resolve([high, parent, low]))
  expect((await ranges.refresh()).map(({ id }) => id)).toEqual(['1', '2'])
  const whole = { minInclusive: '', maxExclusive: 'FF' }
  await expect(ranges.holding(whole)).rejects.toMatchObject({
    code: 'ERR_RANGE_GONE',
    successors: [
      { minInclusive: '', maxExclusive: '20' },
      { minInclusive: '20', maxExclusive: 'FF' },
    ],
  })
})

test('what is no pkrange is no list of a server that can be used', async () => {
  const ranges = new PresentPkRanges(() => Promise.resolve([{ id: 'x' }]))
  await expect(ranges.refresh()).rejects.toMatchObject({ code: 'ERR_SERVER_UNSUPPORTED' })
})
