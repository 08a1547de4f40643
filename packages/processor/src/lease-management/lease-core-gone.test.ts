import { describe, expect, test } from 'vitest'
import type { HostIdentity, HostSession } from '@tidemark/contracts'
import { HEARTBEAT_MS, IDS, TTL_MS, lease, running, Driver } from './lease-core-driver.fixture.ts'

const B = { host: 'b', incarnation: 'b1' }
const C = { host: 'c', incarnation: 'c1' }

/** Hosts that are told of in the beat under way; undefined when none is under way. */
function toldInBeat(driver: Driver): readonly HostIdentity[] | undefined {
  const call = driver.pending('sync')
  return call?.op === 'sync' ? (call.request.gone ?? []) : undefined
}

describe('LE-16 a host that is certainly dead', () => {
  test('is told to the store at once, and once', () => {
    const driver = running()
    driver.tell({ kind: 'gone', peer: B })
    expect(toldInBeat(driver)).toEqual([B])
    driver.synced()
    driver.passTo(driver.nowMs + HEARTBEAT_MS)
    expect(toldInBeat(driver)).toEqual([])
  })

  test('is told by the next beat when one is under way, at once after its answer', () => {
    const driver = running()
    driver.passTo(driver.nowMs + HEARTBEAT_MS)
    expect(toldInBeat(driver)).toEqual([])
    driver.tell({ kind: 'gone', peer: B })
    driver.synced()
    expect(toldInBeat(driver)).toEqual([B])
  })

  test('is told again after a beat without an answer, with whoever died meanwhile', () => {
    const driver = running()
    driver.tell({ kind: 'gone', peer: B })
    driver.tell({ kind: 'gone', peer: C })
    driver.fail('sync')
    driver.passTo(driver.nowMs + HEARTBEAT_MS)
    expect(toldInBeat(driver)).toEqual([B, C])
    driver.synced()
    driver.passTo(driver.nowMs + HEARTBEAT_MS)
    expect(toldInBeat(driver)).toEqual([])
  })

  test('is told once more if it died while others were told', () => {
    const driver = running()
    driver.tell({ kind: 'gone', peer: B })
    driver.tell({ kind: 'gone', peer: C })
    driver.synced()
    expect(toldInBeat(driver)).toEqual([C])
  })

  test('is told with the join of a host that was fenced before it could tell', () => {
    const driver = running()
    driver.passTo(driver.nowMs + HEARTBEAT_MS)
    driver.tell({ kind: 'gone', peer: B })
    driver.answer({ op: 'sync', reply: { kind: 'fenced', generation: 'g' } })
    driver.read([], { hosts: [session('b', 'b1')] })
    expect(driver.pending('sync')).toMatchObject({ request: { intent: 'join', gone: [B] } })
  })

  test('is named by the incarnation that died, whatever this host reads meanwhile', () => {
    const driver = running()
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    driver.tell({ kind: 'gone', peer: B })
    driver.read(
      IDS.map((id) => lease(id, { owner: { host: 'a', incarnation: 'i' }, epoch: 7 })),
      { hosts: [session('a', 'i'), session('b', 'b2', 'here/b2')] },
    )
    expect(toldInBeat(driver)).toEqual([B])
    driver.synced()
    expect(toldInBeat(driver)).toBeUndefined()
  })
})

test('LE-16 whom to watch follows from each read, for a host that has a presence', () => {
  const profile = { weight: 1, minLeases: 0, maxLeases: 100, presence: 'here/a' }
  const driver = new Driver({ profile })
  driver.tell({ kind: 'start' })
  driver.synced()
  const hosts = [session('a', 'i', 'here/a'), session('b', 'b1', 'here/b'), session('c', 'c1')]
  driver.read(
    IDS.map((id) => lease(id)),
    { hosts },
  )
  expect(driver.of('watch')).toEqual([
    { kind: 'watch', peers: [{ host: 'b', incarnation: 'b1', presence: 'here/b' }] },
  ])
  const without = new Driver()
  without.tell({ kind: 'start' })
  without.synced()
  without.read([], { hosts })
  expect(without.of('watch')).toEqual([])
})

function session(host: string, incarnation: string, presence?: string): HostSession {
  const profile = { weight: 1, minLeases: 0, maxLeases: 100, leaving: false, presence }
  return { host, incarnation, profile, deadlineMs: TTL_MS }
}
