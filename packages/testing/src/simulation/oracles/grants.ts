import {
  parseFeedRangeId,
  rangesOverlap,
  type CheckpointOutcome,
  type FeedRange,
  type HeldLease,
  type HostIdentity,
} from '@tidemark/contracts'
import type { LeaseGroupState, LeaseRecord, SessionRecord } from '@tidemark/processor/lease-model'
import type { SimulatedProcess } from '../time/simulated-process.ts'
import type { StoreChange } from '../world/lease-server.ts'
import { HOST_TIMES } from '../world/world.ts'
import type { Member } from '../world/member.ts'
import type { SentCall } from '../world/world-events.ts'
import type { MakeOracle, Verdict } from './oracle.ts'

interface Grant {
  readonly range: FeedRange
  readonly epoch: number
  readonly host: string
}

/**
 * O1: one owner at a time. In the store no lease goes to another host while its owner's session is unexpired on the
 * lease clock, epochs rise with every owner, and every key has one lease (I1, I9, I11). In the hosts nobody works on
 * keys of which a newer owner has got a batch, but whoever cannot know yet: a process whose name another one took, an
 * owner that an operator or a loss of data has deposed, and for the time of a session one whose session the store ended too
 * early, because the last heartbeats were lost with other data. No clock that is set is an excuse. Whoever was told that a position of it is refused has noticed.
 */
export const grantsOracle: MakeOracle = (verdict) => {
  const sessions = new SessionTimes(verdict)
  const deposed = new Set<string>()
  const refused = new Set<string>()
  /** Who last asked for a session under a name: after a loss of data that may be the older process. */
  const joined = new Map<string, Member>()
  let working: readonly Grant[] = []
  let excusedUntilMs = -Infinity
  let isDamaged = false
  let wasDamaged = false
  return {
    fault(fault) {
      const losesData = fault.kind === 'storeRollback' || fault.kind === 'storeWipe'
      if (losesData) excusedUntilMs = fault.atMs + HOST_TIMES.ttlMs
    },
    storeChanged(change) {
      sessions.changed(change)
      const { before, after, cause, by } = change
      if (cause === 'request' && by?.name !== 'operator') {
        checkOwners(verdict, change, sessions)
      } else {
        for (const record of before.leases.values()) {
          const { id, epoch } = record
          if (after.leases.get(id)?.epoch !== epoch) deposed.add(key({ leaseId: id, epoch }))
        }
        working = working.filter(({ range, epoch }) => !isDeposed(range, epoch))
      }
      // What was damaged is whole again only when all leases are created again.
      if (cause === 'damage') isDamaged = true
      // A store that goes back may go back to it.
      if (cause === 'rollback') isDamaged = wasDamaged
      wasDamaged ||= isDamaged
      if (after.leases.size === 0) isDamaged = false
      if (isDamaged || before.leases === after.leases || sameIds(before, after)) return
      checkCover(verdict, after)
    },
    sent(call) {
      sessions.sent(call)
      if (call.operation === 'sync:join') joined.set(call.member.name, call.member)
    },
    answered({ operation, member, leases }, reply) {
      if (operation !== 'checkpoint') return
      const outcomes = reply as readonly CheckpointOutcome[]
      for (const [index, lease] of leases.entries()) {
        if (outcomes[index] === 'lost') refused.add(`${member.id} ${key(lease)}`)
      }
    },
    dispatched({ leaseId, epoch, range, member, atMs }) {
      if (refused.has(`${member.id} ${key({ leaseId, epoch })}`)) {
        verdict.fail(
          'O1',
          `${member.process.name} ${leaseId}: dispatched although its position was refused`,
        )
      }
      // Whoever was deposed learns of it when its next position is refused.
      if (deposed.has(key({ leaseId, epoch }))) return
      const newer = working.find(
        (grant) => grant.epoch > epoch && rangesOverlap(grant.range, range),
      )
      if (newer === undefined) {
        working = [
          ...working.filter((grant) => !rangesOverlap(grant.range, range)),
          { range, epoch, host: member.name },
        ]
        return
      }
      const isOutdone = member.isOutdone || joined.get(member.name) !== member
      if (newer.host === member.name || isOutdone) return
      if (atMs < excusedUntilMs) return
      verdict.fail(
        'O1',
        `${member.process.name} ${leaseId}: dispatched at epoch ${epoch} after ${newer.host} at ${newer.epoch}`,
      )
    },
  }

  function isDeposed({ minInclusive, maxExclusive }: FeedRange, epoch: number): boolean {
    return deposed.has(key({ leaseId: `${minInclusive}-${maxExclusive}`, epoch }))
  }
}

/** In the store times are whole ms. */
const ROUNDING_MS = 5

/**
 * Sessions by true time. A host counts from when it asks; a store of documents from when it reads, which may be long
 * before what it writes is there.
 */
class SessionTimes {
  readonly #verdict: Verdict
  readonly #askedMs = new Map<SimulatedProcess, number>()
  readonly #renewedMs = new Map<SessionRecord, number>()

  constructor(verdict: Verdict) {
    this.#verdict = verdict
  }

  sent({ operation, member, sentMs }: SentCall): void {
    if (operation === 'sync:join' || operation === 'sync:beat') {
      this.#askedMs.set(member.process, sentMs)
    }
  }

  changed({ before, after, cause, by, atMs }: StoreChange): void {
    if (before.head.sessions === after.head.sessions) return
    if (cause === 'crash') return
    if (cause !== 'request') {
      // Of those that were lost, or are back, the store may know less than their hosts do.
      this.#renewedMs.clear()
      return
    }
    const renewedMs = (by && this.#askedMs.get(by)) ?? atMs
    for (const [host, session] of after.head.sessions) {
      if (before.head.sessions.get(host) !== session) this.#renewedMs.set(session, renewedMs)
    }
    for (const [host, session] of before.head.sessions) {
      if (after.head.sessions.get(host) === session) continue
      const earlyMs = (this.#renewedMs.get(session) ?? -Infinity) + HOST_TIMES.ttlMs - atMs
      this.#renewedMs.delete(session)
      // Replaced, renewed, or left.
      const isOwnDoing = after.head.sessions.has(host) || by?.name.split('#')[0] === host
      if (isOwnDoing || earlyMs <= ROUNDING_MS) continue
      this.#verdict.fail('O1', `the session of ${host} was ended ${earlyMs} ms before its time`)
    }
  }

  has({ sessions }: LeaseGroupState['head'], { host, incarnation }: HostIdentity): boolean {
    return sessions.get(host)?.incarnation === incarnation
  }
}

function checkOwners(
  verdict: Verdict,
  { before, after, by }: StoreChange,
  sessions: SessionTimes,
): void {
  if (before.leases === after.leases) return
  for (const [id, record] of after.leases) {
    const old = before.leases.get(id)
    if (old === record) continue
    if (old === undefined) checkNew(verdict, record, before)
    else if (!sameOwner(old.owner, record.owner)) {
      if (old.owner !== undefined) {
        const byOwner = by?.name.split('#')[0] === old.owner.host
        if (!byOwner && sessions.has(after.head, old.owner)) {
          verdict.fail('O1', `${id} was taken from ${old.owner.host}, whose session is alive`)
        }
      }
      if (record.owner !== undefined && record.epoch <= old.epoch) {
        verdict.fail('O1', `${id} got an owner and no higher epoch than ${old.epoch}`)
      }
    }
  }
}

/** What replaced others has a higher epoch than any of them. */
function checkNew(verdict: Verdict, { id, epoch }: LeaseRecord, before: LeaseGroupState): void {
  const range = parseFeedRangeId(id)
  if (range === undefined) return
  for (const old of before.leases.values()) {
    const oldRange = parseFeedRangeId(old.id)
    if (oldRange === undefined || !rangesOverlap(range, oldRange) || epoch > old.epoch) continue
    verdict.fail('O1', `${id} at epoch ${epoch} replaced ${old.id} at ${old.epoch}`)
  }
}

function sameIds({ leases: before }: LeaseGroupState, { leases: after }: LeaseGroupState): boolean {
  if (before.size !== after.size) return false
  for (const id of after.keys()) if (!before.has(id)) return false
  return true
}

function checkCover(verdict: Verdict, { leases }: LeaseGroupState): void {
  if (leases.size === 0) return
  let covered = ''
  for (const id of [...leases.keys()].sort()) {
    const [min = '', max = ''] = id.split('-')
    if (min !== covered) {
      verdict.fail('O1', `after ${covered} comes lease ${id}`)
      return
    }
    covered = max
  }
  if (covered !== 'FF') verdict.fail('O1', `no lease begins at ${covered}`)
}

function sameOwner(a: HostIdentity | undefined, b: HostIdentity | undefined): boolean {
  return a?.host === b?.host && a?.incarnation === b?.incarnation
}

function key({ leaseId, epoch }: HeldLease): string {
  return `${leaseId}@${epoch}`
}
