import {
  LeaseStoreUnavailableError,
  assertNever,
  type Clock,
  type LeaseGroup,
} from '@tidemark/contracts'
import type { LeaseCall, LeaseReply } from './lease-protocol.ts'

/** Why the timer of a call ends that was answered: nobody looks at it, and an error for each call would cost. */
const ANSWERED = 'answered'

/**
 * Performs one call on the lease group. A call without answer within `timeoutMs` rejects with
 * ERR_LEASE_STORE_UNAVAILABLE, also if the group ignores its signal.
 */
export async function performCall(
  call: LeaseCall,
  { group, clock, timeoutMs }: { group: LeaseGroup; clock: Clock; timeoutMs: number },
  signal: AbortSignal,
): Promise<LeaseReply> {
  const over = new AbortController()
  let end: unknown = ANSWERED
  const callSignal = AbortSignal.any([signal, over.signal])
  const timedOut = clock.sleep(timeoutMs, callSignal).then(() => {
    end = new LeaseStoreUnavailableError(`${call.op} was given up`)
    throw new LeaseStoreUnavailableError(`${call.op} had no answer within ${timeoutMs} ms`)
  })
  try {
    return await Promise.race([invoke(call, group, callSignal), timedOut])
  } finally {
    // Ends the timer after an answer, and the call after a timeout.
    over.abort(end)
  }
}

async function invoke(
  call: LeaseCall,
  group: LeaseGroup,
  signal: AbortSignal,
): Promise<LeaseReply> {
  switch (call.op) {
    case 'sync':
      return { op: 'sync', reply: await group.sync(call.request, signal) }
    case 'read':
      return { op: 'read', reply: await group.read(signal) }
    case 'plan':
      return { op: 'plan', reply: await group.plan(call.request, signal) }
    case 'acquire':
      return { op: 'acquire', reply: await group.acquire(call.request, signal) }
    case 'checkpoint':
      return { op: 'checkpoint', reply: await group.checkpoint(call.request, signal) }
    case 'release':
      return { op: 'release', reply: await group.release(call.request, signal) }
    case 'replace':
      return { op: 'replace', reply: await group.replace(call.request, signal) }
    case 'reconcile':
      return { op: 'reconcile', reply: await group.reconcile(call.request, signal) }
    default:
      return assertNever(call)
  }
}
