import { rangeContainsEpk, type FeedRange, type PartitionKeyRange } from '@tidemark/contracts'
import { expectSame, expectThat } from './difference.ts'
import { epkOf } from './model.ts'
import type { ModelRange } from './model-records.ts'
import { PARTITION_KEYS, type Step } from './program.ts'
import { outcomeCode, outcomeOf, type Session } from './session.ts'

/** Splits a range in the middle or at a key. */
export async function performSplit(
  session: Session,
  { range: wanted, at: place }: Extract<Step, { do: 'split' }>,
): Promise<void> {
  const { model, collection } = session
  const range = rangeAt(model.ranges, wanted)
  const at = PARTITION_KEYS.includes(place) ? epkOf(place) : place
  const outcome = await outcomeOf(
    place === 'middle' ? collection.split(range.id) : collection.split(range.id, { at }),
  )
  const epks = new Set(
    model.liveVersions().flatMap(({ epk }) => (rangeContainsEpk(range, epk) ? [epk] : [])),
  )
  if (place !== 'middle') {
    const isInside = range.minInclusive < at && at < range.maxExclusive
    expectSame(
      'outcome of the split',
      outcomeCode(outcome),
      isInside ? 'done' : 'ERR_INVALID_OPTION',
    )
  } else if (epks.size !== 0) {
    const wantedCode = epks.size === 1 ? 'ERR_RANGE_INDIVISIBLE' : 'done'
    expectSame('outcome of the split', outcomeCode(outcome), wantedCode)
  }
  if (outcome.kind === 'failed') return
  const [low, high] = outcome.value
  expectSame('where the split is', low.maxExclusive, high.minInclusive)
  if (place !== 'middle') expectSame('where the split is', high.minInclusive, at)
  expectSame(
    'the keys of both',
    [low.minInclusive, high.maxExclusive],
    [range.minInclusive, range.maxExclusive],
  )
  if (place === 'middle' && epks.size > 1) {
    for (const child of [low, high]) {
      const share = [...epks].filter((epk) => rangeContainsEpk(child, epk))
      expectThat(share.length > 0, () => `the split left ${child.id} without documents`)
    }
  }
  replaceRanges(session, [range], [low, high])
  await expectGone(session, range.id)
}

/** Merges a range with its neighbour above. */
export async function performMerge(
  session: Session,
  { range: wanted }: Extract<Step, { do: 'merge' }>,
): Promise<void> {
  const { model, collection } = session
  if (model.ranges.length === 1) return
  const low = rangeAt(model.ranges.slice(0, -1), wanted)
  const high = model.ranges[model.ranges.indexOf(low) + 1]
  if (high === undefined) return
  const order = wanted % 2 === 0 ? ([low.id, high.id] as const) : ([high.id, low.id] as const)
  const merged = await collection.merge(...order)
  expectSame(
    'the keys of the merged range',
    [merged.minInclusive, merged.maxExclusive],
    [low.minInclusive, high.maxExclusive],
  )
  replaceRanges(session, [low, high], [merged])
  await expectGone(session, high.id)
}

export function rangeAt(ranges: readonly ModelRange[], wanted: number): ModelRange {
  const range = ranges[wanted % ranges.length]
  if (range === undefined) throw new RangeError('a collection without ranges')
  return range
}

/** ST-7: ids are never reused, and name those whose place they took. */
function replaceRanges(
  { model }: Session,
  gone: readonly ModelRange[],
  successors: readonly PartitionKeyRange[],
): void {
  const newestLsn = Math.max(...gone.map((range) => range.newestLsn))
  const made = successors.map(({ id, minInclusive, maxExclusive, parents }): ModelRange => {
    expectThat(!model.rangeIds.has(id), () => `range id ${id} was given out twice`)
    model.rangeIds.add(id)
    for (const parent of gone) {
      const named: readonly string[] = parents
      expectThat(
        named.includes(parent.id),
        () => `range ${id} does not name its parent ${parent.id}`,
      )
    }
    return { id, minInclusive, maxExclusive, newestLsn }
  })
  const kept = model.ranges.filter((range) => !gone.includes(range))
  model.ranges = [...kept, ...made].toSorted(byKey)
}

async function expectGone({ collection }: Session, id: string): Promise<void> {
  const outcome = await outcomeOf(collection.split(id))
  expectSame(
    `outcome of a split of range ${id}, which is gone`,
    outcomeCode(outcome),
    'ERR_RANGE_GONE',
  )
}

function byKey(a: FeedRange, b: FeedRange): number {
  return a.minInclusive < b.minInclusive ? -1 : 1
}
