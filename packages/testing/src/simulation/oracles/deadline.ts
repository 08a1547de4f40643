import { rangesOverlap, type HostIdentity } from '@tidemark/contracts'
import type { Member } from '../world/member.ts'
import type { ObserverLife, SentCall } from '../world/world-events.ts'
import { HOST_TIMES } from '../world/world.ts'
import type { MakeOracle } from './oracle.ts'

/** Operations that count on the session. */
const WORK = new Set(['checkpoint', 'release', 'replace', 'acquire', 'plan'])

/**
 * O6: no observer is called after the host's deadline by its own clock, nor after the time at which its session may have
 * ended in the store by true time; nothing that rests on the session is asked of the store after the deadline; no
 * observer is called before its open or after its close, and no two that are open in one process have keys in common.
 */
export const deadlineOracle: MakeOracle = (verdict) => {
  /** By true time. */
  const deadlines = new Map<Member, number>()
  /** By the process's own clock, which stands still while its machine sleeps. */
  const ownDeadlines = new Map<Member, number>()
  const sentByOwnClock = new Map<SentCall, number>()
  const open = new Map<string, ObserverLife>()
  const keyOf = ({ member, leaseId, epoch }: ObserverLife): string =>
    `${member.id} ${leaseId} ${epoch}`
  return {
    answered(call, reply) {
      const { member, sentMs } = call
      const ownMs = sentByOwnClock.get(call)
      sentByOwnClock.delete(call)
      if (ownMs === undefined || (reply as { kind: string }).kind !== 'ok') return
      const validMs = HOST_TIMES.ttlMs - HOST_TIMES.marginMs
      deadlines.set(member, Math.max(deadlines.get(member) ?? 0, sentMs + HOST_TIMES.ttlMs))
      ownDeadlines.set(member, Math.max(ownDeadlines.get(member) ?? 0, ownMs + validMs))
    },
    sent(call) {
      const { member, operation, caller } = call
      const nowMs = member.process.monotonicMs()
      if (operation === 'sync:join' || operation === 'sync:beat') sentByOwnClock.set(call, nowMs)
      if (!WORK.has(operation)) return
      const deadlineMs = ownDeadlines.get(member) ?? 0
      if (nowMs < deadlineMs) return
      verdict.fail('O6', `${nameOf(caller)} sent ${operation} ${nowMs - deadlineMs} ms too late`)
    },
    opened(life) {
      const key = keyOf(life)
      for (const [other, { member, range }] of open) {
        if (member !== life.member || !rangesOverlap(range, life.range)) continue
        verdict.fail('O6', `${key} was opened, and ${other} was not closed`)
      }
      open.set(key, life)
    },
    dispatched(delivery) {
      const { member, leaseId, atMs } = delivery
      if (!open.has(keyOf(delivery))) {
        verdict.fail('O6', `${keyOf(delivery)}: dispatched while not open`)
      }
      const lateMs = Math.max(
        atMs - (deadlines.get(member) ?? 0),
        member.process.monotonicMs() - (ownDeadlines.get(member) ?? 0),
      )
      if (lateMs < 0) return
      const { name } = member.process
      verdict.fail('O6', `${name} ${leaseId}: dispatched ${lateMs} ms after the deadline`)
    },
    closed(life) {
      if (!open.delete(keyOf(life))) verdict.fail('O6', `${keyOf(life)} was closed while not open`)
    },
  }
}

function nameOf(caller: HostIdentity | undefined): string {
  return caller === undefined ? 'somebody' : `${caller.host}/${caller.incarnation}`
}
