import fc from 'fast-check'
import { describe, test } from 'vitest'
import { ComparedLeaseGroup, type StepTime } from './compared-lease-group.ts'
import { leaseStep, SHARING_STEPS } from './lease-steps.ts'
import type { LeaseStoreSuite } from './fixtures.ts'

export function describeModel(suite: LeaseStoreSuite): void {
  describe('model', () => {
    test('random sequences answer as the pure model does, and leave the same state', async () => {
      const sequence = fc.array(leaseStep, { minLength: 5, maxLength: 45, size: 'max' })
      await fc.assert(
        fc.asyncProperty(fc.boolean(), sequence, async (shared, steps) => {
          const { one, two } = await suite.group()
          const { generation } = await one.read()
          const compared = new ComparedLeaseGroup(stepTime(suite), generation)
          for (const [index, step] of [...(shared ? SHARING_STEPS : []), ...steps].entries()) {
            // Two hosts' handles in turn: what one remembers must not mislead it.
            const group = index % 3 === 0 ? two : one
            await compared.run(step, group)
            await compared.compareState(group)
          }
        }),
        { numRuns: suite.options.modelRuns ?? 50 },
      )
    }, 120_000)
  })
}

/** A store whose time never goes back agrees with the model only while it rises. */
function stepTime(suite: LeaseStoreSuite): StepTime {
  const time = suite.time()
  return {
    nowUs: () => time.wallMs() * 1000,
    pass: (us) => {
      const ms = Math.trunc(us / 1000)
      if (ms < 0 && suite.options.timeGoesBack === true) time.step(ms)
      else time.advance(Math.abs(ms))
    },
  }
}
