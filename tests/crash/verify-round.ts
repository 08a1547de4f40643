import type { Acknowledgement } from './acknowledgements.ts'
import { keyOf, type CrashStore } from './crash-store.ts'
import { Lane, partitionKeyOfLane, sameState, versionOf, type LaneState } from './lane.ts'
import type { FollowerMessage } from './messages.ts'

export interface RoundVerdict {
  /** Acknowledged writes that are not there, or that the follower did not see. */
  readonly lost: readonly string[]
  /** Disagreements of documents, feed, count, index and counters. */
  readonly indexFaults: readonly string[]
  /** Writes that were on their way when the process died: those that are in the store, and those that are not. */
  readonly inDoubt: { readonly applied: number; readonly notApplied: number }
  /** What each lane begins the next round with. */
  readonly states: readonly LaneState[]
}

type Followed = Extract<FollowerMessage, { kind: 'followed' }>

/** Compares a reopened store with what its writers were told before they died. */
export async function verifyRound(
  { store, documents }: CrashStore,
  round: {
    readonly seed: number
    readonly round: number
    /** What each lane began with. */
    readonly before: readonly LaneState[]
    readonly acknowledged: readonly Acknowledgement[]
    readonly followed: Followed | undefined
  },
): Promise<RoundVerdict> {
  const lost: string[] = []
  const indexFaults: string[] = []
  const inDoubt = { applied: 0, notApplied: 0 }
  const found = await readAll(documents, indexFaults)
  const states: LaneState[] = []
  for (const [lane, before] of round.before.entries()) {
    const mine = round.acknowledged.filter((acknowledgement) => acknowledgement.lane === lane)
    const partition = await documents.readPartition(partitionKeyOfLane(lane))
    const present = new Map(partition.documents.map(({ id, version }) => [id, version]))
    states.push(present)
    const planned = new Lane({ seed: round.seed, round: round.round, lane }, before)
    for (let count = 0; count < mine.length; count++) planned.next()
    const acknowledged = planned.state
    planned.next()
    if (sameState(present, acknowledged)) inDoubt.notApplied++
    else if (sameState(present, planned.state)) inDoubt.applied++
    else lost.push(...differences(lane, acknowledged, present))
    lost.push(...checkLsns(lane, mine))
    for (const { index, lsn } of mine) {
      const version = versionOf(round.round, index)
      for (const document of partition.documents) {
        if (document.version === version && document._lsn !== lsn) {
          indexFaults.push(`${keyOf(document)} has LSN ${document._lsn}, acknowledged was ${lsn}`)
        }
      }
    }
    for (const document of partition.documents) {
      if (found.get(keyOf(document)) !== document.version) {
        indexFaults.push(`${keyOf(document)} is not in the feed with its version`)
      }
      found.delete(keyOf(document))
    }
  }
  for (const key of found.keys()) indexFaults.push(`${key} is in the feed and not in its partition`)
  indexFaults.push(...(await store.check()))
  if (round.followed !== undefined) {
    lost.push(...(await checkFollower(documents, { followed: round.followed, states })))
  }
  return { lost, indexFaults, inDoubt, states }
}

/** Page sizes that reading from the beginning is done with in turn: all must give the same. */
const PAGE_SIZES = [1000, 7, 1]

async function readAll(
  documents: CrashStore['documents'],
  faults: string[],
): Promise<Map<string, string>> {
  const feeds: Map<string, string>[] = []
  for (const maxItemCount of PAGE_SIZES) {
    const feed = new Map<string, string>()
    const lastLsns = new Map<string, number>()
    for await (const page of documents.changes({
      from: 'beginning',
      follow: false,
      maxItemCount,
    })) {
      for (const change of page.changes) {
        if (change.kind !== 'document') continue
        const key = keyOf(change.document)
        if (feed.has(key)) faults.push(`${key} is in the feed twice`)
        if (change.lsn < (lastLsns.get(page.range.minInclusive) ?? 0)) {
          faults.push(`${key} has LSN ${change.lsn}, below one before it`)
        }
        lastLsns.set(page.range.minInclusive, change.lsn)
        feed.set(key, change.document.version)
      }
    }
    feeds.push(feed)
  }
  const [first = new Map<string, string>(), ...others] = feeds
  for (const feed of others) {
    if (!sameState(first, feed)) faults.push('the feed depends on the size of its pages')
  }
  const count = await documents.count()
  if (count !== first.size) faults.push(`count is ${count}, the feed has ${first.size} documents`)
  return new Map(first)
}

function checkLsns(lane: number, mine: readonly Acknowledgement[]): readonly string[] {
  const faults: string[] = []
  let last = 0
  for (const [position, { index, lsn }] of mine.entries()) {
    if (index !== position) faults.push(`lane ${lane}: acknowledgement ${position} is of ${index}`)
    if (lsn === 0) continue
    if (lsn <= last) faults.push(`lane ${lane}: LSN ${lsn} was given out after ${last}`)
    last = lsn
  }
  return faults
}

/** A server may have finished writes of the dead after the follower stopped: they come behind its continuation. */
async function checkFollower(
  documents: CrashStore['documents'],
  { followed, states }: { readonly followed: Followed; readonly states: readonly LaneState[] },
): Promise<readonly string[]> {
  const { seen, continuation, faults } = followed
  const problems = [...faults]
  const versions = new Map(seen.map(([key, version]) => [key, version]))
  for await (const page of documents.changes({ from: { continuation }, follow: false })) {
    for (const change of page.changes) {
      if (change.kind === 'document') versions.set(keyOf(change.document), change.document.version)
    }
  }
  for (const [lane, state] of states.entries()) {
    for (const [id, version] of state) {
      const key = keyOf({ lane: partitionKeyOfLane(lane), id })
      const got = versions.get(key) ?? 'nothing'
      if (got !== version) problems.push(`the follower saw ${got} of ${key}, not ${version}`)
    }
  }
  return problems
}

function differences(lane: number, wanted: LaneState, found: LaneState): readonly string[] {
  return [...new Set([...wanted.keys(), ...found.keys()])]
    .filter((id) => wanted.get(id) !== found.get(id))
    .map((id) => {
      const key = keyOf({ lane: partitionKeyOfLane(lane), id })
      return `${key} is ${found.get(id) ?? 'absent'}, acknowledged was ${wanted.get(id) ?? 'absent'}`
    })
}
