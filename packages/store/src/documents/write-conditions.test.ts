import fc from 'fast-check'
import { errorCode } from '@tidemark/contracts'
import { documentEtag } from '@tidemark/contracts/internal'
import { expect, test } from 'vitest'
import { conditionHolds } from '../engine/write-condition.ts'
import { conditionFailure, engineCondition } from './write-conditions.ts'

const COLLECTION = 3
const etag = fc.constantFrom(
  undefined,
  '*',
  documentEtag(COLLECTION, 1),
  documentEtag(COLLECTION, 2),
  documentEtag(COLLECTION + 1, 1),
  'not an etag',
)

test('ST-3 what the engine judges is what judging by hand says', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('create' as const, 'upsert' as const, 'replace' as const, 'delete' as const),
      etag,
      etag,
      fc.constantFrom(undefined, 1, 2, 3),
      (kind, ifMatch, ifNoneMatch, presentLsn) => {
        fc.pre(kind !== 'create' || ifMatch === undefined)
        const condition = engineCondition(kind, { ifMatch, ifNoneMatch }, COLLECTION)
        // More than one condition: read first, so that nothing is to be compared.
        if (condition === undefined) return
        const present = presentLsn && documentEtag(COLLECTION, presentLsn)
        const failure = conditionFailure(kind, 'a', { ifMatch, ifNoneMatch }, present)
        expect(conditionHolds(condition, presentLsn)).toBe(failure === undefined)
      },
    ),
    { numRuns: 2000 },
  )
})

test('ST-3 a create that must match something is a contradiction', () => {
  let code: string | undefined
  try {
    engineCondition('create', { ifMatch: '*' }, COLLECTION)
  } catch (error) {
    code = errorCode(error)
  }
  expect(code).toBe('ERR_INVALID_OPTION')
})
