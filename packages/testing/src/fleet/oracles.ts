import assert from 'node:assert/strict'
import { feedRangeId, parseFeedRangeId, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import type { Delivery, Fleet } from './fleet.ts'

/**
 * What must hold of everything that a fleet's observers were told, whatever happened (O3 to O6 of
 * docs/spec/lease-protocol.md):
 *
 * - each open has at most one close, and nothing comes after it;
 * - batches are never empty, and one observer's batches come in feed order, without a gap if its lease
 *   is of a whole range that was not split or merged;
 * - of each key, whichever leases it was in, first deliveries come in order, and none is skipped.
 *
 * `lanes`: the hosts work on several keys of a range at the same time, so that only each key has an order.
 * `bisects`: a transaction may come in parts, as one that failed or may have ended a process is cut.
 */
export function assertFleetHistory(
  fleet: Fleet,
  {
    lanes = false,
    bisects = false,
  }: { lanes?: boolean | undefined; bisects?: boolean | undefined } = {},
): void {
  assertLifecycles(fleet)
  assertKeyOrder(fleet)
  if (!lanes) assertObserverOrder(fleet, bisects)
}

/**
 * I1: nobody begins a batch of a lease of which another host, at a higher epoch, has begun one; whichever
 * leases its keys were in before and after. `mayOverlap` says of which deliveries this is not demanded.
 */
export function assertNoStaleOwner(
  { deliveries }: Fleet,
  { mayOverlap = () => false }: { mayOverlap?: ((delivery: Delivery) => boolean) | undefined } = {},
): void {
  const newest = new Map<
    string,
    { readonly range: FeedRange; readonly epoch: number; readonly host: string }
  >()
  for (const delivery of deliveries) {
    const { leaseId, epoch, host } = delivery
    const range = parseFeedRangeId(leaseId)
    assert(range !== undefined, `${leaseId} is the id of no range`)
    let isOld = false
    for (const [id, before] of newest) {
      if (before.epoch <= epoch || !rangesOverlap(before.range, range)) continue
      isOld = true
      if (mayOverlap(delivery)) continue
      assert.equal(host, before.host, `${leaseId}: epoch ${epoch} after ${before.epoch} of ${id}`)
    }
    if (!isOld) newest.set(leaseId, { range, epoch, host })
  }
}

function assertLifecycles({ calls }: Fleet): void {
  const states = new Map<string, 'open' | 'closed'>()
  for (const { host, leaseId, epoch, call } of calls) {
    const key = `${host} ${leaseId} ${epoch}`
    const state = states.get(key)
    if (call === 'open') {
      assert(state !== 'open', `${key}: opened twice`)
      states.set(key, 'open')
    } else {
      assert.equal(state, 'open', `${key}: ${call} while not open`)
      if (call === 'close') states.set(key, 'closed')
    }
  }
}

function assertObserverOrder({ deliveries, feed }: Fleet, bisects: boolean): void {
  const lastOfObserver = new Map<string, Delivery>()
  const wholes = new Set(feed.ranges.map(feedRangeId))
  for (const delivery of deliveries) {
    const { host, leaseId, epoch, attempt, changes } = delivery
    assert(changes.length > 0, 'an empty batch was dispatched')
    const observer = `${host} ${leaseId} ${epoch}`
    const first = changes[0]!.lsn
    const before = lastOfObserver.get(observer)
    if (before !== undefined && attempt === 1) {
      const from = before.changes[0]!.lsn
      const to = before.changes.at(-1)!.lsn
      // Of a batch that failed any part may come, or what is behind it if it was taken out of the way.
      const isPart = before.outcome === 'failed' && first >= from && first <= to + 1
      const isCut = bisects && first === to && changes[0]!.id !== before.changes.at(-1)!.id
      // A part of a range sees the LSNs of its own keys only; that nothing is missing show the keys.
      const isWhole = feed.reshapes === 0 && wholes.has(leaseId)
      const follows = isWhole ? first === to + 1 : first > to
      assert(follows || isPart || isCut, `${observer}: batch begins at ${first} after ${to}`)
    }
    lastOfObserver.set(observer, delivery)
  }
}

function assertKeyOrder({ deliveries, feed, startsAtBeginning }: Fleet): void {
  const lastOfKey = new Map<string, number>()
  for (const { changes } of deliveries) {
    for (const { id } of changes) {
      // Of the id, as a damaged change has no document.
      const key = id.slice(0, id.lastIndexOf('-'))
      const n = Number(id.slice(key.length + 1))
      let newest = lastOfKey.get(key) ?? (startsAtBeginning ? 0 : n - 1)
      while (feed.overwritten.has(`${key}-${newest + 1}`)) newest += 1
      assert(n <= newest + 1, `key ${key}: ${n} delivered after ${newest}`)
      lastOfKey.set(key, Math.max(newest, n))
    }
  }
}
