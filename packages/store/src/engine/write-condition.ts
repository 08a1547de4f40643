import { assertNever } from '@tidemark/contracts/internal'
import type { WriteCondition } from './commit.ts'

/** Whether a condition holds, given the LSN of the present live document (undefined = there is none). */
export function conditionHolds(condition: WriteCondition, presentLsn: number | undefined): boolean {
  switch (condition.kind) {
    case 'none':
      return true
    case 'absent':
      return presentLsn === undefined
    case 'present':
      return presentLsn !== undefined
    case 'lsn':
      return presentLsn === condition.lsn
    case 'notLsn':
      return presentLsn !== condition.lsn
    default:
      return assertNever(condition)
  }
}
