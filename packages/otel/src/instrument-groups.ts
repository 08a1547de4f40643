import type {
  FeedEstimate,
  LagProblem,
  LeaseEstimate,
  LeaseEstimateState,
} from '@tidemark/processor'
import { checkOptions, optionWhole } from '@tidemark/contracts/internal'
import { ATTRIBUTE, OWN } from './attributes.ts'
import {
  meterOf,
  observing,
  readingRules,
  shared,
  type Observe,
  type ReadingOptions,
} from './instruments.ts'

export interface GroupReadingOptions extends ReadingOptions {
  /**
   * At most so many ranges have series of their own, over all groups: those with the most left. SDKs give up at about 2,000
   * series of a metric.
   * @range 0 or more @default 500
   */
  readonly maxRanges?: number | undefined
}

const STATES: readonly LeaseEstimateState[] = ['owned', 'silent', 'unowned', 'paused', 'missing']
const PROBLEMS: readonly LagProblem[] = [
  'horizonPassed',
  'invalidPosition',
  'rangeGone',
  'leaseMissing',
]

/**
 * Reads the lag of groups when metrics are collected, until it is disposed: `read` is
 * `async () => [await estimator.estimate()]`. It is asked at most every 5 s, and takes at most a twentieth of the time.
 *
 * @throws ERR_INVALID_OPTION
 */
export function instrumentGroups(
  read: () => Promise<readonly FeedEstimate[]>,
  options: GroupReadingOptions = {},
): Disposable {
  checkOptions(options, { ...readingRules, maxRanges: optionWhole(0) })
  const { maxRanges = 500 } = options
  const estimates = shared(read, options)
  return observing(meterOf(options), {
    gauges: [
      'tidemark.group.lag',
      'tidemark.group.lag.age',
      'tidemark.group.hosts',
      'tidemark.group.leases',
      'tidemark.group.problems',
      'tidemark.lease.lag',
      'tidemark.lease.lag.age',
    ],
    observe: async (observe) => {
      const all = await estimates.get()
      for (const estimate of all) observeGroup(estimate, observe)
      const leases = all.flatMap((estimate) => {
        const about = attributesOf(estimate)
        return estimate.leases.map((lease) => ({ ...lease, about }))
      })
      for (const lease of leases.toSorted(byLag).slice(0, maxRanges)) {
        const about = { ...lease.about, [ATTRIBUTE.partition]: lease.leaseId }
        observe('tidemark.lease.lag', lease.remainingChanges, about)
        const ageMs = lease.oldestChangeAgeMs
        if (ageMs !== undefined) observe('tidemark.lease.lag.age', ageMs / 1000, about)
      }
    },
  })
}

function attributesOf({ group, feed }: FeedEstimate): Readonly<Record<string, string>> {
  return { [ATTRIBUTE.group]: group, [ATTRIBUTE.destination]: feed }
}

function observeGroup(estimate: FeedEstimate, observe: Observe): void {
  const { leases, hosts, remainingChanges, oldestChangeAgeMs } = estimate
  const about = attributesOf(estimate)
  observe('tidemark.group.lag', remainingChanges, about)
  if (oldestChangeAgeMs !== undefined) {
    observe('tidemark.group.lag.age', oldestChangeAgeMs / 1000, about)
  }
  observe('tidemark.group.hosts', hosts.length, about)
  for (const state of STATES) {
    const count = leases.filter((lease) => lease.state === state).length
    observe('tidemark.group.leases', count, { ...about, [OWN.leaseState]: state })
  }
  for (const problem of PROBLEMS) {
    const count = leases.filter((lease) => lease.problem === problem).length
    observe('tidemark.group.problems', count, { ...about, [OWN.problem]: problem })
  }
}

function byLag(a: LeaseEstimate, b: LeaseEstimate): number {
  return (
    b.remainingChanges - a.remainingChanges ||
    (b.oldestChangeAgeMs ?? 0) - (a.oldestChangeAgeMs ?? 0)
  )
}
