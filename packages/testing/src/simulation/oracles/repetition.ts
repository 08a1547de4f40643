import {
  feedRangeId,
  parseFeedRangeId,
  rangeContainsEpk,
  rangesOverlap,
  type FeedRange,
  type HeldLease,
} from '@tidemark/contracts'
import type { LeaseRecord } from '@tidemark/processor/lease-model'
import type { Schedule } from '../schedule/schedule.ts'
import type { StoreChange } from '../world/lease-server.ts'
import type { Member } from '../world/member.ts'
import { epkOf } from '../world/simulated-feed.ts'
import { HOST_TIMES, LANE_WINDOW, MAX_BATCH } from '../world/world.ts'
import type { MakeOracle } from './oracle.ts'

/** A batch may be longer than `maxItemCount` by the rest of one transaction. */
const LONGEST_BATCH = MAX_BATCH + 2

/** When somebody else has got a lease, its owner that was deposed by a loss of data or an operator notices it in this time. */
const NOTICED_MS = 12 * HOST_TIMES.heartbeatMs

/** Keys of which data were lost, or which an operator set back: what was done before may come again. */
interface Forgiven {
  readonly range: FeedRange
  untilMs: number
}

interface Progress {
  readonly epk: string
  /** Of the key, done so far. */
  n: number
  /** LSNs of what was done, by `n`. */
  readonly lsns: number[]
  /** How much of it was to come again when the present owner got it. */
  owed: number
}

/**
 * O9: what is delivered again, and how much of it. Never what was stored when its owner got the lease, never what the same
 * observer has done; after an orderly end of the owner before, nothing at all; after any other end at most what may be
 * done and not stored: one batch, or the window of the settings. More only where the store lost data or an operator
 * said so. An observer that takes one change at a time has a failure behind it, and ends in order, without repeating anything.
 */
export const repetitionOracle: MakeOracle = (verdict, { schedule }) => {
  const keys = new Map<string, Progress>()
  const begins = new Map<string, number>()
  const ends = new OrderlyEnds()
  /** Keys of which the last call failed, by observer. */
  const failing = new Map<string, Set<string>>()
  const done = new Map<string, number>()
  const allowed = mayBeLost(schedule)

  /** Who last asked for a session under a name. */
  const joined = new Map<string, Member>()
  const isOutdone = (member: Member): boolean =>
    member.isOutdone || joined.get(member.name) !== member

  const { observer, maxConcurrentKeys } = schedule.settings
  /** LSN of what each observer has done last. */
  const lastDone = new Map<string, number>()
  const isExact = observer === 'one' && maxConcurrentKeys === 1

  let forgiven: Forgiven[] = []
  /** The newest of each key. */
  let grants: readonly { readonly range: FeedRange; readonly epoch: number }[] = []

  function granted({ id, epoch, checkpoint }: LeaseRecord, change: StoreChange): void {
    begins.set(`${id}@${epoch}`, checkpoint.lsn)
    const range = parseFeedRangeId(id)
    if (range === undefined || change.by === undefined || change.before.leases.size === 0) return
    grants = [...grants.filter((one) => !rangesOverlap(one.range, range)), { range, epoch }]
    let again = 0
    let limit = ends.wereAllOrderly(range, change) ? 0 : allowed
    for (const progress of keys.values()) {
      if (!rangeContainsEpk(range, progress.epk)) continue
      limit += progress.owed
      progress.owed = countAgain(progress, checkpoint.lsn)
      again += progress.owed
    }
    forgiven = forgiven.filter(({ untilMs }) => untilMs > change.atMs)
    const excuses = forgiven.filter((one) => rangesOverlap(one.range, range))
    for (const excuse of excuses)
      excuse.untilMs = Math.min(excuse.untilMs, change.atMs + NOTICED_MS)
    if (again <= limit || excuses.length > 0) return
    verdict.fail(
      'O9',
      `${id} at epoch ${epoch} begins at ${checkpoint.lsn}: ${again} changes will come again, ${limit} may`,
    )
  }

  /** What was stored and not on disk is to come again. */
  function lostWith(leaseId: string, storedLsn: number, leftLsn: number): void {
    const range = parseFeedRangeId(leaseId)
    if (range === undefined) return
    for (const progress of keys.values()) {
      if (!rangeContainsEpk(range, progress.epk)) continue
      progress.owed += countAgain(progress, leftLsn) - countAgain(progress, storedLsn)
    }
  }

  function forgive(leaseId: string): void {
    const range = parseFeedRangeId(leaseId)
    if (range !== undefined) forgiven.push({ range, untilMs: Infinity })
  }

  return {
    storeChanged(change) {
      const { before, after, by, cause } = change
      if (before.leases === after.leases) return
      if (cause === 'crash') {
        for (const [id, { checkpoint }] of after.leases) {
          const old = before.leases.get(id)?.checkpoint
          if (old !== undefined && checkpoint.lsn < old.lsn) lostWith(id, old.lsn, checkpoint.lsn)
        }
        return
      }
      const isSetBack = cause !== 'request' || by?.name === 'operator'
      for (const [id, record] of after.leases) {
        const old = before.leases.get(id)
        if (old === record) continue
        if (isSetBack) forgive(id)
        else if (record.owner === undefined && old?.owner !== undefined) {
          // A batch that is tried again in parts may end between two of them.
          if (isExact || old.checkpoint.attempts === undefined) ends.released(old)
        } else if (record.owner !== undefined && record.epoch !== old?.epoch)
          granted(record, change)
      }
      // With leases that were made since, where they stood is lost.
      if (cause === 'rollback' && after.leases.size < before.leases.size) forgive('-FF')
      if (cause === 'wipe') forgive('-FF')
      if (cause === 'damage')
        for (const id of before.leases.keys()) if (!after.leases.has(id)) forgive(id)
    },
    sent({ operation, member }) {
      if (operation === 'sync:join') joined.set(member.name, member)
    },
    closed({ leaseId, epoch, member }, reason, { signal }) {
      const isOrderly = ['leaseHandedOver', 'shutdown', 'rangeGone'].includes(reason)
      // What fails and is to be tried again is not waited for: what was done behind it is not stored.
      const isFailing = (failing.get(`${member.id} ${leaseId}@${epoch}`)?.size ?? 0) > 0
      if (isOrderly && !isFailing && !signal.aborted) ends.closed({ leaseId, epoch })
    },
    dispatched({ leaseId, epoch, member, changes }) {
      const begin = begins.get(`${leaseId}@${epoch}`) ?? 0
      const [first] = changes
      if (first !== undefined && first.change.lsn <= begin) {
        verdict.fail(
          'O9',
          `${member.process.name} ${leaseId}: ${first.change.lsn} came again, which was stored at ${begin}`,
        )
      }
      for (const { key, n } of changes) {
        if (n > (done.get(`${member.id} ${leaseId}@${epoch} ${key}`) ?? 0)) continue
        verdict.fail('O9', `${member.process.name} ${leaseId}: ${key} ${n} came again after done`)
      }
    },
    deadLettered({ key, n, change }, _letter, member) {
      if (isOutdone(member)) return
      noteDone(keys, { key, n, lsn: change.lsn })
    },
    settled({ outcome, changes, leaseId, epoch, member }) {
      const life = `${member.id} ${leaseId}@${epoch}`
      const failingKeys = failing.get(life) ?? new Set()
      failing.set(life, failingKeys)
      for (const { key, n, change } of changes) {
        if (outcome !== 'done') {
          // Of one transaction, there is no position between what is accepted and what fails.
          if (!isExact || lastDone.get(life) === change.lsn) failingKeys.add(key)
          continue
        }
        lastDone.set(life, change.lsn)
        failingKeys.delete(key)
        // A process whose name another one has taken is somebody else, whom nobody waits for.
        if (isOutdone(member)) continue
        const before = keys.get(key)?.n ?? 0
        const progress = noteDone(keys, { key, n, lsn: change.lsn })
        // An aborted call that did its work after the next owner had got the lease: that one does it again.
        const newest = grants.find(({ range }) => rangeContainsEpk(range, progress.epk))
        if (newest !== undefined && newest.epoch > epoch) progress.owed += progress.n - before
        done.set(`${member.id} ${leaseId}@${epoch} ${key}`, n)
      }
    },
  }
}

/** Which leases were given up in order: the observer was closed undisturbed, and the store was told the position. */
class OrderlyEnds {
  readonly #closed = new Set<string>()
  readonly #released = new Set<string>()

  closed({ leaseId, epoch }: HeldLease): void {
    this.#closed.add(`${leaseId}@${epoch}`)
  }

  released({ id, epoch }: LeaseRecord): void {
    this.#released.add(`${id}@${epoch}`)
  }

  /** Of all that held these keys before. */
  wereAllOrderly(range: FeedRange, { before, by }: StoreChange): boolean {
    const id = feedRangeId(range)
    const old = before.leases.get(id)
    if (old !== undefined) {
      const key = `${id}@${old.epoch}`
      return old.epoch === 0 || (this.#closed.has(key) && this.#released.has(key))
    }
    // It replaced others, by the word of their owner.
    return [...before.leases.values()]
      .filter(({ id: other }) => contains(other, range) || contains(id, parseFeedRangeId(other)))
      .every(({ id: other, epoch, owner, checkpoint }) => {
        if (checkpoint.attempts !== undefined) return false
        const isOwners = by?.name.split('#')[0] === owner?.host
        return isOwners && this.#closed.has(`${other}@${epoch}`)
      })
  }
}

function contains(id: string, inner: FeedRange | undefined): boolean {
  const outer = parseFeedRangeId(id)
  if (outer === undefined || inner === undefined) return false
  return outer.minInclusive <= inner.minInclusive && inner.maxExclusive <= outer.maxExclusive
}

/** Changes that may be done and not stored when an owner ends in whatever way. */
function mayBeLost({ settings, faults }: Schedule): number {
  const { checkpointFrequency, maxConcurrentKeys } = settings
  // A call that was aborted may still do what it was to do, besides the batch that was not stored.
  const lanes = maxConcurrentKeys > 1 ? LANE_WINDOW + LONGEST_BATCH : 0
  const inFlight = 2 * LONGEST_BATCH + lanes
  if (checkpointFrequency === 'everyBatch') return inFlight
  // Those who do not wait for the store go on without it until the deadline of their session.
  const isCutOff = faults.some(
    ({ kind }) => kind === 'link' || kind === 'cutAndStep' || kind === 'storePause',
  )
  if ('everyMs' in checkpointFrequency || isCutOff) return Infinity
  return checkpointFrequency.everyChanges + inFlight
}

function noteDone(
  keys: Map<string, Progress>,
  { key, n, lsn }: { key: string; n: number; lsn: number },
): Progress {
  let progress = keys.get(key)
  if (progress === undefined) {
    progress = { epk: epkOf(key), n: 0, lsns: [], owed: 0 }
    keys.set(key, progress)
  }
  progress.n = Math.max(progress.n, n)
  progress.lsns[n] = lsn
  return progress
}

function countAgain({ lsns, n }: Progress, storedLsn: number): number {
  let again = 0
  for (let index = n; index > 0 && (lsns[index] ?? Infinity) > storedLsn; index -= 1) again += 1
  return again
}
