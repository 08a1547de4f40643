import { describe, expect, test } from 'vitest'
import { FULL_RANGE, errorCode, type LeaseGroupSnapshot } from '@tidemark/contracts'
import {
  Driver,
  HEARTBEAT_MS,
  IDS,
  MARGIN_MS,
  TTL_MS,
  at,
  held,
  hostNamed,
  lease,
  running,
} from './lease-core-driver.fixture.ts'

describe('session', () => {
  test('I6 the deadline counts from when the beat was sent, and ends before the store’s', () => {
    const driver = new Driver()
    driver.tell({ kind: 'start' })
    driver.nowMs = 1_500
    driver.synced()
    expect(driver.core.deadlineMs).toBe(TTL_MS - MARGIN_MS)
  })

  test('I6 at the deadline nothing may be dispatched, and every pump is aborted', () => {
    const driver = running()
    driver.passTo(TTL_MS - MARGIN_MS - 1)
    expect(driver.core.mayDispatch(driver.nowMs)).toBe(true)
    expect(driver.core.mayDispatch(TTL_MS - MARGIN_MS)).toBe(false)
    driver.passTo(TTL_MS - MARGIN_MS)
    expect(driver.of('abortPump').map(({ held: { leaseId } }) => leaseId)).toEqual(IDS)
    expect(driver.core.status).toBe('fenced')
    expect(driver.core.held()).toEqual([])
  })

  test('I1 a beat tells the time since the answer came: what passed before it, the lease clock may have in it already', () => {
    const driver = new Driver()
    driver.tell({ kind: 'start' })
    driver.nowMs = 1_500
    driver.synced({ clockMs: 70, storeMs: 90 })
    driver.passTo(HEARTBEAT_MS)
    expect(driver.pending('sync')).toMatchObject({
      request: { observed: { clockMs: 70, storeMs: 90, elapsedMs: HEARTBEAT_MS - 1_500 } },
    })
  })

  test('a join whose answer comes after its deadline is tried again', () => {
    const driver = new Driver()
    driver.tell({ kind: 'start' })
    driver.nowMs = TTL_MS
    driver.synced()
    expect(driver.core.status).toBe('joining')
    expect(driver.pending('sync')).toMatchObject({ request: { intent: 'join' } })
  })

  test('LE-4 a beat every heartbeat; earlier when another host is about to expire', () => {
    const driver = running()
    driver.passTo(HEARTBEAT_MS)
    expect(driver.pending('sync')).toMatchObject({ request: { intent: 'beat' } })
    driver.synced({ nextDeadlineInMs: 300 })
    expect(driver.wakeAtMs).toBe(HEARTBEAT_MS + 320)
    driver.passTo(HEARTBEAT_MS + 320)
    driver.synced({ nextDeadlineInMs: 7_000 })
    expect(driver.wakeAtMs).toBe(2 * HEARTBEAT_MS + 320)
  })

  test('a beat that failed is repeated well before the deadline', () => {
    const driver = running()
    driver.passTo(HEARTBEAT_MS)
    for (let tries = 0; tries < 5; tries += 1) {
      driver.fail('sync')
      driver.passTo(driver.wakeAtMs)
    }
    expect(driver.nowMs).toBeLessThan(2 * HEARTBEAT_MS)
    expect(driver.core.status).toBe('suspect')
    expect(driver.notices('storeUnavailable')).toHaveLength(1)
    driver.synced()
    expect(driver.notices('storeRecovered')).toHaveLength(1)
    expect(driver.core.deadlineMs).toBeGreaterThan(TTL_MS)
  })

  test('fenced while nobody has the name: joins again under a new incarnation', () => {
    const driver = running()
    driver.passTo(HEARTBEAT_MS)
    driver.answer({ op: 'sync', reply: { kind: 'fenced', generation: 'g' } })
    expect(driver.of('abortPump')).toHaveLength(4)
    driver.read(
      IDS.map((id) => lease(id)),
      { hosts: [] },
    )
    expect(driver.pending('sync')).toMatchObject({
      request: { intent: 'join', incarnation: 'i.1' },
    })
  })

  test('fenced by another process of its name: stops with ERR_HOST_REPLACED once its pumps have closed', () => {
    const driver = running()
    driver.passTo(HEARTBEAT_MS)
    driver.answer({ op: 'sync', reply: { kind: 'fenced', generation: 'g' } })
    const profile = { weight: 1, minLeases: 0, maxLeases: 100, leaving: false }
    driver.read([], { hosts: [{ host: 'a', incarnation: 'other', profile, deadlineMs: 1 }] })
    expect(driver.pending('sync')).toBeUndefined()
    for (const id of IDS) {
      expect(driver.of('stopped')).toEqual([])
      driver.tell({
        kind: 'pumpClosed',
        held: held(id),
        checkpoint: at(9),
        reason: 'leaseLost',
        replacement: undefined,
      })
    }
    expect(errorCode(driver.of('stopped')[0]?.error)).toBe('ERR_HOST_REPLACED')
    expect(driver.pending('release')).toBeUndefined()
  })

  test('after a stall of the event loop it beats first, and dispatches only after an answer to that', () => {
    const driver = running()
    driver.nowMs = HEARTBEAT_MS + MARGIN_MS + 1
    expect(driver.core.mayDispatch(driver.nowMs)).toBe(false)
    driver.tell({ kind: 'tick' })
    expect(driver.core.mayDispatch(driver.nowMs)).toBe(false)
    driver.synced()
    expect(driver.core.mayDispatch(driver.nowMs)).toBe(true)
  })

  test('a beat that was under way before a stall does not count', () => {
    const driver = running()
    driver.passTo(HEARTBEAT_MS)
    driver.tell({ kind: 'clockJumped' })
    driver.nowMs += 10
    driver.tell({ kind: 'clockJumped' })
    driver.synced()
    expect(driver.core.mayDispatch(driver.nowMs)).toBe(false)
    driver.synced()
    expect(driver.core.mayDispatch(driver.nowMs)).toBe(true)
  })

  test('answers to calls of a session that is over change nothing', () => {
    const driver = new Driver()
    driver.tell({ kind: 'start' })
    driver.synced()
    driver.read(IDS.map((id) => lease(id)))
    driver.passTo(TTL_MS)
    expect(driver.core.status).toBe('fenced')
    driver.acquired(IDS)
    expect(driver.of('startPump')).toEqual([])
    expect(driver.core.held()).toEqual([])
  })
})

describe('plan', () => {
  test('an outdated plan is made anew after 50 to 100 ms by reading and a compare-and-set', () => {
    const driver = new Driver()
    driver.tell({ kind: 'start' })
    driver.synced({ planVersion: 0 })
    const leases = IDS.map((id) => lease(id, { target: undefined }))
    const snapshot = { planVersion: 0, hosts: ['a', 'b'].map(hostNamed) }
    driver.read(leases, snapshot)
    expect(driver.pending('plan')).toBeUndefined()
    driver.passTo(50)
    driver.read(leases, snapshot)
    const targets = new Map(IDS.map((id, index) => [id, index < 2 ? 'a' : 'b']))
    expect(driver.pending('plan')).toEqual({
      op: 'plan',
      request: { membershipVersion: 1, targets },
    })
    driver.answer({ op: 'plan', reply: true })
    const mine = IDS.slice(0, 2)
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: mine } })
  })

  test('a host that is alone plans at once', () => {
    const driver = new Driver()
    driver.tell({ kind: 'start' })
    driver.synced({ planVersion: 0 })
    driver.read(
      IDS.map((id) => lease(id, { target: undefined })),
      { planVersion: 0 },
    )
    expect(driver.pending('plan')).toEqual({
      op: 'plan',
      request: { membershipVersion: 1, targets: new Map(IDS.map((id) => [id, 'a'])) },
    })
    driver.answer({ op: 'plan', reply: true })
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: IDS } })
  })

  test('a plan that another host made first is read', () => {
    const driver = new Driver()
    driver.tell({ kind: 'start' })
    driver.synced({ planVersion: 0 })
    driver.read(
      IDS.map((id) => lease(id)),
      { planVersion: 0 },
    )
    expect(driver.pending('read')).toBeUndefined()
    driver.answer({ op: 'plan', reply: false })
    expect(driver.pending('read')).toBeDefined()
  })

  test('LE-12 a lease that is another host’s now is drained, released with its last position, not before', () => {
    const driver = running()
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    const owner = { host: 'a', incarnation: 'i' }
    const leases = IDS.map((id) => lease(id, { owner, epoch: 7, target: id === '-40' ? 'b' : 'a' }))
    driver.read(leases, { membershipVersion: 2, planVersion: 2 })
    expect(driver.of('drainPump')).toEqual([
      { kind: 'drainPump', held: held('-40'), reason: 'leaseHandedOver' },
    ])
    expect(driver.pending('release')).toBeUndefined()
    driver.tell({
      kind: 'pumpClosed',
      held: held('-40'),
      checkpoint: at(5),
      reason: 'leaseHandedOver',
      replacement: undefined,
    })
    expect(driver.pending('release')).toMatchObject({
      request: { releases: [{ leaseId: '-40', epoch: 7, checkpoint: at(5) }] },
    })
  })

  test('a drain that takes too long is aborted, and released without its position', () => {
    const driver = running({ handoffTimeoutMs: 1_000 })
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    const owner = { host: 'a', incarnation: 'i' }
    driver.read(
      IDS.map((id) => lease(id, { owner, epoch: 7, target: 'b' })),
      {
        membershipVersion: 2,
        planVersion: 2,
      },
    )
    driver.passTo(1_000)
    expect(driver.of('abortPump')).toHaveLength(4)
    driver.tell({
      kind: 'pumpClosed',
      held: held('-40'),
      checkpoint: at(5),
      reason: 'leaseHandedOver',
      replacement: undefined,
    })
    const release = driver.pending('release')
    expect(release).toMatchObject({ request: { releases: [held('-40')] } })
  })

  test('a lease that could not be had is tried again on the hint, with the next beat, or after acquireRetryMs', () => {
    const driver = new Driver()
    driver.tell({ kind: 'start' })
    driver.synced()
    driver.read(IDS.map((id) => lease(id)))
    driver.acquired(IDS.slice(1))
    expect(driver.pending('acquire')).toBeUndefined()
    driver.tell({ kind: 'hint', hint: 'released', jitter: 0 })
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: ['-40'] } })
    driver.acquired([])
    driver.passTo(HEARTBEAT_MS)
    expect(driver.pending('acquire')).toBeUndefined()
    driver.synced()
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: ['-40'] } })
    driver.acquired([])
    driver.passTo(HEARTBEAT_MS + 4_999)
    expect(driver.pending('acquire')).toBeUndefined()
    driver.passTo(HEARTBEAT_MS + 5_000)
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: ['-40'] } })
  })
})

describe('ownership', () => {
  test('PH-4 whether the leases cover the keys is asked by one host for all: the first by name of those that stay', () => {
    const asks = (hosts: LeaseGroupSnapshot['hosts']): boolean => {
      const driver = running({ keys: [FULL_RANGE] })
      driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
      driver.read(
        IDS.map((id) => lease(id, { owner: { host: 'a', incarnation: 'i' }, epoch: 7 })),
        { hosts },
      )
      for (let beat = 1; beat < 10; beat += 1) {
        driver.passTo(driver.wakeAtMs)
        driver.synced()
      }
      driver.passTo(driver.wakeAtMs)
      const call = driver.pending('sync')
      if (call?.op !== 'sync') throw new Error('a beat is pending')
      expect(call.request.held).toMatchObject({ count: 4 })
      return call.request.keys !== undefined
    }
    const [a, b, earlier] = [hostNamed('a'), hostNamed('b'), hostNamed('A')]
    const leaving = { ...earlier, profile: { ...earlier.profile, leaving: true } }
    expect(asks([a])).toBe(true)
    expect(asks([a, b])).toBe(true)
    expect(asks([earlier, a])).toBe(false)
    expect(asks([leaving, a])).toBe(true)
  })

  test('I7 every 10th beat carries the digest; a difference is reconciled', () => {
    const driver = running()
    const withDigest: boolean[] = []
    for (let beat = 1; beat <= 20; beat += 1) {
      driver.passTo(driver.wakeAtMs)
      const call = driver.pending('sync')
      withDigest.push(call?.op === 'sync' && call.request.held !== undefined)
      driver.synced({ heldMatches: beat !== 10 })
      if (beat === 10) {
        expect(driver.pending('reconcile')).toMatchObject({
          request: { held: IDS.map((id) => ({ ...held(id), lsn: 0 })) },
        })
        driver.answer({
          op: 'reconcile',
          reply: { unknownToHost: [], lost: ['-40'], behind: [] },
        })
        driver.acquired(['-40'], 8)
      }
    }
    expect(withDigest.map((has, index) => (has ? index + 1 : 0)).filter(Boolean)).toEqual([10, 20])
    expect(driver.of('abortPump').map(({ held: { leaseId } }) => leaseId)).toEqual(['-40'])
  })

  test('I7 an acquire without an answer is looked into at once: the next plan may have given what it got to others', () => {
    const driver = new Driver()
    driver.tell({ kind: 'start' })
    driver.synced()
    driver.read(IDS.map((id) => lease(id)))
    driver.fail('acquire')
    expect(driver.pending('reconcile')).toMatchObject({ request: { held: [] } })
    const owner = { host: 'a', incarnation: 'i' }
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    driver.read(IDS.map((id) => lease(id, { owner, epoch: 7, target: 'b' })))
    const unknownToHost = IDS.map((id) => lease(id, { owner, epoch: 7, target: 'b' }))
    driver.answer({ op: 'reconcile', reply: { unknownToHost, lost: [], behind: [] } })
    expect(driver.of('startPump')).toEqual([])
    expect(driver.pending('release')).toMatchObject({
      request: { releases: IDS.map((id) => held(id)) },
    })
  })

  test('I7 an acquire whose answer was lost is found: used if it is wanted, given back if not', () => {
    const driver = running()
    driver.passTo(HEARTBEAT_MS)
    driver.synced({ heldMatches: false })
    const owner = { host: 'a', incarnation: 'i' }
    driver.answer({
      op: 'reconcile',
      reply: {
        unknownToHost: [
          lease('-40', { owner, epoch: 9 }),
          lease('00-01', { owner, epoch: 3, target: 'b' }),
        ],
        lost: [],
        behind: [],
      },
    })
    // The older grant of the first one is over; the newer begins when its pump has closed.
    expect(driver.of('abortPump')).toEqual([
      { kind: 'abortPump', held: held('-40'), reason: 'leaseLost' },
    ])
    expect(driver.of('startPump')).toEqual([])
    driver.tell({
      kind: 'pumpClosed',
      held: held('-40'),
      checkpoint: at(1),
      reason: 'leaseLost',
      replacement: undefined,
    })
    expect(driver.of('startPump').map((effect) => effect.held)).toEqual([held('-40', 9)])
    expect(driver.pending('release')).toMatchObject({ request: { releases: [held('00-01', 3)] } })
  })

  test('I2 a stored position that fell behind the acknowledged one is stored again', () => {
    const driver = running()
    driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(5) })
    driver.answer({ op: 'checkpoint', reply: ['stored'] })
    expect(driver.of('checkpointed')).toEqual([
      { kind: 'checkpointed', held: held('-40'), checkpoint: at(5) },
    ])
    driver.passTo(HEARTBEAT_MS)
    driver.synced({ heldMatches: false })
    driver.answer({ op: 'reconcile', reply: { unknownToHost: [], lost: [], behind: ['-40'] } })
    expect(driver.pending('checkpoint')).toMatchObject({
      request: { checkpoints: [{ ...held('-40'), checkpoint: at(5) }] },
    })
  })

  test('LE-13 checkpoints go together, one call at a time', () => {
    const driver = running()
    driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(1) })
    for (const id of IDS) driver.tell({ kind: 'progress', held: held(id), checkpoint: at(2) })
    expect(driver.of('call').filter(({ call }) => call.op === 'checkpoint')).toHaveLength(1)
    driver.answer({ op: 'checkpoint', reply: ['stored'] })
    const second = driver.pending('checkpoint')
    expect(second?.op === 'checkpoint' && second.request.checkpoints.length).toBe(4)
  })

  test('I3 LE-11 a refused checkpoint loses the lease: its pump is aborted, nothing more is stored', () => {
    const driver = running()
    driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(1) })
    driver.answer({ op: 'checkpoint', reply: ['lost'] })
    expect(driver.of('abortPump')).toEqual([
      { kind: 'abortPump', held: held('-40'), reason: 'leaseLost' },
    ])
    driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(2) })
    expect(driver.pending('checkpoint')).toBeUndefined()
    expect(driver.of('checkpointed')).toEqual([])
  })

  test('a checkpoint whose outcome is unknown is sent again, with what came since', () => {
    const driver = running()
    driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(1) })
    driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(2) })
    driver.fail('checkpoint')
    driver.passTo(100)
    expect(driver.pending('checkpoint')).toMatchObject({
      request: { checkpoints: [{ checkpoint: at(2) }] },
    })
  })

  test('LE-6 leaving: announced first, then released with positions, then left', () => {
    const driver = running()
    driver.tell({ kind: 'leave' })
    expect(driver.pending('sync')).toMatchObject({
      request: { intent: 'beat', profile: { leaving: true } },
    })
    expect(driver.of('drainPump')).toHaveLength(4)
    driver.synced({ membershipVersion: 2, planVersion: 1 })
    for (const id of IDS) {
      driver.tell({
        kind: 'pumpClosed',
        held: held(id),
        checkpoint: at(3),
        reason: 'shutdown',
        replacement: undefined,
      })
    }
    const first = driver.pending('release')
    expect(first?.op === 'release' && first.request.releases.length).toBe(1)
    driver.answer({ op: 'release', reply: ['released'] })
    const second = driver.pending('release')
    expect(second?.op === 'release' && second.request.releases.length).toBe(3)
    expect(driver.pending('sync')).toBeUndefined()
    driver.answer({ op: 'release', reply: ['released', 'released', 'released'] })
    expect(driver.pending('sync')).toMatchObject({ request: { intent: 'leave' } })
    driver.synced()
    expect(driver.of('stopped')).toEqual([{ kind: 'stopped', error: undefined }])
    expect(driver.wakeAtMs).toBe(Infinity)
  })

  test('LE-8 leases that were discarded and made anew are lost, then acquired anew', () => {
    const driver = running()
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    driver.read(
      IDS.map((id) => lease(id)),
      { membershipVersion: 2, planVersion: 2 },
    )
    expect(driver.notices('lost')).toHaveLength(4)
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: IDS } })
  })

  test('leases that stay away for a TTL stop the host with ERR_LEASES_VANISHED', () => {
    const driver = running()
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    driver.read([], { membershipVersion: 2, planVersion: 2 })
    expect(driver.core.status).toBe('joined')
    for (const id of IDS) {
      driver.tell({
        kind: 'pumpClosed',
        held: held(id),
        checkpoint: undefined,
        reason: 'leaseLost',
        replacement: undefined,
      })
    }
    while (driver.of('stopped').length === 0) {
      driver.passTo(driver.wakeAtMs)
      if (driver.pending('sync')) driver.synced({ membershipVersion: 2, planVersion: 2 })
      if (driver.pending('read')) driver.read([], { membershipVersion: 2, planVersion: 2 })
    }
    expect(driver.nowMs).toBe(TTL_MS)
    expect(errorCode(driver.of('stopped')[0]?.error)).toBe('ERR_LEASES_VANISHED')
  })

  test('another generation of the store stops the host at once with ERR_LEASES_VANISHED', () => {
    const driver = running()
    driver.passTo(HEARTBEAT_MS)
    driver.answer({ op: 'sync', reply: { kind: 'fenced', generation: 'other' } })
    for (const id of IDS) {
      driver.tell({
        kind: 'pumpClosed',
        held: held(id),
        checkpoint: undefined,
        reason: 'leaseLost',
        replacement: undefined,
      })
    }
    expect(errorCode(driver.of('stopped')[0]?.error)).toBe('ERR_LEASES_VANISHED')
  })
})
