import { expect, test } from 'vitest'
import type { WriteCondition } from './commit.ts'
import { conditionHolds } from './write-condition.ts'

test('a condition holds for exactly what it says of the present document', () => {
  const cases: readonly (readonly [WriteCondition, absent: boolean, at7: boolean, at8: boolean])[] =
    [
      [{ kind: 'none' }, true, true, true],
      [{ kind: 'absent' }, true, false, false],
      [{ kind: 'present' }, false, true, true],
      [{ kind: 'lsn', lsn: 7 }, false, true, false],
      [{ kind: 'notLsn', lsn: 7 }, true, false, true],
    ]
  for (const [condition, absent, at7, at8] of cases) {
    expect([undefined, 7, 8].map((present) => conditionHolds(condition, present))).toEqual([
      absent,
      at7,
      at8,
    ])
  }
})
