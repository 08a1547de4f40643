import { afterAll, beforeAll, describe } from 'vitest'
import type { LeaseGroup } from '@tidemark/contracts'
import { describeAttempts } from './attempts.ts'
import { describeHints } from './hints.ts'
import {
  observingGroup,
  type LeaseStoreConformance,
  type LeaseStoreSuite,
  type LeaseStoreUnderTest,
} from './fixtures.ts'
import { describeLeaseSet } from './lease-set.ts'
import { describeMembership } from './membership.ts'
import { describeModel } from './model.ts'
import { describeNotes } from './notes.ts'
import { describeOverride } from './override.ts'
import { describeOwnership } from './ownership.ts'
import { describePause } from './pause.ts'
import { describeReplace } from './replace.ts'

/**
 * What every lease store must do, by the contract `LeaseStore` of @tidemark/contracts. Call it in a test
 * file of vitest.
 */
export function leaseStoreConformance(options: LeaseStoreConformance): void {
  describe(`lease store conformance: ${options.name}`, () => {
    let open: LeaseStoreUnderTest | undefined
    let groups = 0
    const handles: LeaseGroup[] = []
    const opened = (): LeaseStoreUnderTest => {
      if (open === undefined) throw new Error('the store under test did not open')
      return open
    }
    beforeAll(async () => {
      open = await options.open()
    })
    afterAll(async () => {
      for (const handle of handles) await handle.close()
      await open?.close()
    })
    const suite: LeaseStoreSuite = {
      options,
      store: () => opened().store,
      other: () => opened().other,
      time: () => opened().time,
      async group() {
        opened().time.catchUp()
        groups += 1
        const name = `group ${groups} {x} é/?#`
        const one = await opened().store.openGroup(name)
        const two = await opened().other.openGroup(name)
        handles.push(one, two)
        const { time } = opened()
        return { name, one: observingGroup(one, time), two: observingGroup(two, time) }
      },
    }
    describeMembership(suite)
    describeLeaseSet(suite)
    describeOwnership(suite)
    describeReplace(suite)
    describeOverride(suite)
    describeAttempts(suite)
    describePause(suite)
    describeHints(suite)
    describeNotes(suite)
    describeModel(suite)
  })
}
