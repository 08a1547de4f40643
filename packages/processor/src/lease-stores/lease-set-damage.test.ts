import { FULL_RANGE, type FeedRange } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { leaseSetDamage } from './lease-set-damage.ts'

function range(minInclusive: string, maxExclusive: string): FeedRange {
  return { minInclusive, maxExclusive }
}

const { maxExclusive: END } = FULL_RANGE
const QUARTERS = [range('', '40'), range('40', '80'), range('80', 'C0'), range('C0', END)]
const TWO_RANGES = [range('', '40'), range('80', 'C0')]

test.each([
  { name: 'whole', leases: QUARTERS, keys: [FULL_RANGE] },
  { name: 'whole, in another order', leases: QUARTERS.toReversed(), keys: [FULL_RANGE] },
  { name: 'whole, of several ranges', leases: TWO_RANGES, keys: TWO_RANGES },
])('PH-4 a set that is $name is not damaged', ({ leases, keys }) => {
  expect(leaseSetDamage(leases, keys)).toBeUndefined()
})

test.each([
  { name: 'a gap', leases: QUARTERS.toSpliced(1, 1), missing: [range('40', '80')] },
  { name: 'no first key', leases: QUARTERS.slice(1), missing: [range('', '40')] },
  { name: 'no last key', leases: QUARTERS.slice(0, 3), missing: [range('C0', END)] },
  { name: 'no leases', leases: [], missing: [FULL_RANGE] },
  { name: 'an overlap', leases: [range('', '60'), range('40', END)], surplus: [range('40', '60')] },
  {
    name: 'a lease twice, and so not another',
    leases: QUARTERS.with(2, range('40', '80')),
    missing: [range('80', 'C0')],
    surplus: [range('40', '80')],
  },
  {
    name: 'keys outside',
    keys: [range('40', '80')],
    leases: [range('40', '90')],
    surplus: [range('80', '90')],
  },
  {
    name: 'one of several ranges missing',
    keys: TWO_RANGES,
    leases: TWO_RANGES.slice(0, 1),
    missing: [range('80', 'C0')],
  },
  {
    name: 'keys between several ranges',
    keys: TWO_RANGES,
    leases: [range('', 'C0')],
    surplus: [range('40', '80')],
  },
])(
  'PH-4 a set with $name is damaged, and the keys are named',
  ({ leases, keys = [FULL_RANGE], missing = [], surplus = [] }) => {
    expect(leaseSetDamage(leases, keys)).toEqual({ missing, surplus })
  },
)
