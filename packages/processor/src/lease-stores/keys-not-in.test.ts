import { describe, expect, test } from 'vitest'
import { feedRangeId, parseFeedRangeId } from '@tidemark/contracts'
import { keysNotIn } from './keys-not-in.ts'

const ranges = (ids: readonly string[]) => ids.map((id) => parseFeedRangeId(id)!)

describe('keys that no range covers', () => {
  test.each([
    { of: ['-FF'], covering: [], missing: ['-FF'] },
    { of: ['-FF'], covering: ['-FF'], missing: [] },
    { of: ['-FF'], covering: ['-40', '40-FF'], missing: [] },
    { of: ['-FF'], covering: ['40-80', '-20'], missing: ['20-40', '80-FF'] },
    { of: ['40-80'], covering: ['-50', '60-FF'], missing: ['50-60'] },
    { of: ['40-80', '-20'], covering: ['10-60'], missing: ['-10', '60-80'] },
    { of: ['40-80'], covering: ['-40', '80-FF'], missing: ['40-80'] },
    { of: ['-FF'], covering: ['-80', '40-C0', '50-60'], missing: ['C0-FF'] },
  ])('$of without $covering is $missing', ({ of, covering, missing }) => {
    expect(keysNotIn(ranges(of), ranges(covering)).map(feedRangeId)).toEqual(missing)
  })
})
