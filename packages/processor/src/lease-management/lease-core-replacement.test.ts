import { describe, expect, test } from 'vitest'
import {
  parseFeedRangeId,
  type AcquiredLease,
  type HeldLease,
  type Lease,
} from '@tidemark/contracts'
import {
  HEARTBEAT_MS,
  IDS,
  TTL_MS,
  at,
  held,
  lease,
  running,
  type Driver,
} from './lease-core-driver.fixture.ts'

describe('replacement', () => {
  const CHILDREN = ['-20', '20-40']

  function children(epoch = 9, fields: Partial<Lease> = {}): AcquiredLease[] {
    const owner = { host: 'a', incarnation: 'i' }
    return CHILDREN.map((id) => {
      return {
        leaseId: id,
        epoch,
        lease: lease(id, { owner, epoch, checkpoint: at(5), ...fields }),
      }
    })
  }

  /** The pump of the first lease has found its range split in two. */
  function split(driver: Driver): void {
    driver.tell({
      kind: 'pumpClosed',
      held: held('-40'),
      checkpoint: at(5),
      reason: 'rangeGone',
      replacement: { cause: 'split', ranges: CHILDREN.map((id) => parseFeedRangeId(id)!) },
    })
  }

  function states(driver: Driver): Record<string, string> {
    return Object.fromEntries(
      driver.core.held().map(({ held: { leaseId }, state }) => [leaseId, state]),
    )
  }

  test('LE-10 a split lease is replaced by its parts at its last position, which start at once and are planned anew', () => {
    const driver = running()
    split(driver)
    expect(driver.pending('replace')).toEqual({
      op: 'replace',
      request: {
        host: 'a',
        incarnation: 'i',
        old: [held('-40')],
        next: CHILDREN.map((id) => ({ range: parseFeedRangeId(id), checkpoint: at(5) })),
      },
    })
    // The replacement carries the position: storing it for the old lease too would be a race.
    expect(driver.pending('checkpoint')).toBeUndefined()
    driver.answer({ op: 'replace', reply: children() })
    expect(driver.of('startPump').map(({ held: started }) => started)).toEqual(
      CHILDREN.map((id) => held(id, 9)),
    )
    expect(driver.notices('replaced')).toMatchObject([{ notice: { cause: 'split' } }])
    expect(driver.notices('lost')).toEqual([])
    expect(states(driver)).not.toHaveProperty('-40')
    driver.passTo(driver.nowMs + 100)
    expect(driver.pending('read')).toBeDefined()
  })

  test('LE-10 a replacement whose outcome is unknown is asked for again, the same', () => {
    const driver = running()
    split(driver)
    const first = driver.pending('replace')
    driver.fail('replace')
    expect(driver.of('startPump')).toEqual([])
    driver.passTo(driver.nowMs + 100)
    expect(driver.pending('replace')).toEqual(first)
  })

  test('LE-10 a refused replacement gives the lease up, and asks what the store attributes to this host', () => {
    const driver = running()
    split(driver)
    driver.answer({ op: 'replace', reply: 'lost' })
    expect(driver.notices('lost')).toMatchObject([{ notice: { held: held('-40') } }])
    expect(states(driver)).not.toHaveProperty('-40')
    expect(driver.pending('reconcile')).toBeDefined()
  })

  test('LE-10 a read, a checkpoint or a reconcile that already knows of the replacement does not lose the lease', () => {
    const driver = running()
    driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(4) })
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    split(driver)
    const owner = { host: 'a', incarnation: 'i' }
    const rest = IDS.slice(1).map((id) => lease(id, { owner, epoch: 7 }))
    driver.read([...children().map((child) => child.lease), ...rest])
    driver.answer({ op: 'checkpoint', reply: ['lost'] })
    expect(driver.notices('lost')).toEqual([])
    driver.answer({ op: 'replace', reply: children() })
    expect(driver.notices('lost')).toEqual([])
    expect(driver.of('startPump')).toHaveLength(2)
  })

  test('LE-10 late answers about a lease that was replaced are not believed', () => {
    const driver = running()
    split(driver)
    const owner = { host: 'a', incarnation: 'i' }
    // The store was asked for the parent, and for a child at an epoch that is history by now.
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    driver.read([...IDS, ...CHILDREN].map((id) => lease(id, { owner, epoch: 7 })))
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: CHILDREN } })
    driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
    driver.answer({ op: 'replace', reply: children(9) })
    driver.read(IDS.map((id) => lease(id, { owner, epoch: 7 })))
    const late = ['-40', ...CHILDREN].map((id) => {
      return { leaseId: id, epoch: 8, lease: lease(id, { owner, epoch: 8 }) }
    })
    driver.answer({ op: 'acquire', reply: late })
    expect(driver.of('startPump').map(({ held: { epoch } }) => epoch)).toEqual([9, 9])
    expect(driver.of('abortPump')).toEqual([])
    // The plan that was read before says nothing of the children.
    expect(driver.of('drainPump')).toEqual([])
  })

  test('I7 a reconcile that crossed a restart does not lose the new epoch', () => {
    const driver = running()
    for (let beat = 1; beat <= 10; beat += 1) {
      driver.passTo(beat * HEARTBEAT_MS)
      driver.synced({ heldMatches: beat < 10 })
    }
    expect(driver.pending('reconcile')).toBeDefined()
    driver.tell({
      kind: 'pumpClosed',
      held: held('-40'),
      checkpoint: undefined,
      reason: 'resynchronized',
      replacement: { cause: 'restart', checkpoint: at(0) },
    })
    const again = lease('-40', { owner: { host: 'a', incarnation: 'i' }, epoch: 9 })
    driver.answer({ op: 'replace', reply: [{ leaseId: '-40', epoch: 9, lease: again }] })
    const reply = { unknownToHost: [again], lost: ['-40'], behind: [] }
    driver.answer({ op: 'reconcile', reply })
    expect(driver.notices('lost')).toEqual([])
    expect(states(driver)).toMatchObject({ '-40': 'running' })
  })

  test('LE-12 what was to go to another host goes there after the split, without a pump in between', () => {
    const driver = running()
    split(driver)
    driver.answer({ op: 'replace', reply: children(9, { target: 'b' }) })
    expect(driver.of('startPump')).toEqual([])
    expect(driver.pending('release')).toMatchObject({
      request: { releases: CHILDREN.map((id) => held(id, 9)) },
    })
  })

  test('LE-10 a lease that is drained when its range is found to be gone is released, not replaced', () => {
    const driver = running()
    driver.tell({ kind: 'leave' })
    split(driver)
    expect(driver.pending('replace')).toBeUndefined()
    expect(driver.pending('release')).toMatchObject({
      request: { releases: [{ ...held('-40'), checkpoint: at(5) }] },
    })
  })

  test('LE-6 a host that leaves in the midst of a replacement waits for its answer and gives the parts back', () => {
    const driver = running()
    split(driver)
    driver.tell({ kind: 'leave' })
    driver.answer({ op: 'replace', reply: children() })
    expect(driver.of('startPump')).toEqual([])
    expect(states(driver)).toMatchObject({ '-20': 'releasing', '20-40': 'releasing' })
  })

  test('I6 a fenced session replaces nothing', () => {
    const driver = running()
    split(driver)
    driver.fail('replace')
    driver.passTo(TTL_MS)
    expect(driver.core.status).toBe('fenced')
    driver.passTo(TTL_MS + 5_000)
    expect(driver.core.held()).toEqual([])
    expect(driver.of('call').filter(({ call }) => call.op === 'replace').length).toBeLessThan(10)
  })

  test('a join closes the idle pumps first, and then asks for one lease at the given position', () => {
    const driver = running()
    const members = [held('-40'), held('40-80')]
    const next = { range: parseFeedRangeId('-80')!, checkpoint: at(6) }
    driver.tell({ kind: 'join', held: members, next })
    expect(driver.of('drainPump').map(({ held: drained }) => drained)).toEqual(members)
    const close = (member: HeldLease): void =>
      driver.tell({
        kind: 'pumpClosed',
        held: member,
        checkpoint: at(6),
        reason: 'rangeGone',
        replacement: undefined,
      })
    close(members[0]!)
    expect(driver.pending('replace')).toBeUndefined()
    // An observer that stores its position while it closes is served.
    driver.tell({ kind: 'progress', held: members[1]!, checkpoint: at(6) })
    expect(driver.pending('checkpoint')).toBeDefined()
    close(members[1]!)
    expect(driver.pending('replace')).toMatchObject({ request: { old: members, next: [next] } })
  })

  test('I10 of a join that is refused because one lease is lost, the others are given back where they stand', () => {
    const driver = running()
    const members = [held('-40'), held('40-80')]
    const next = { range: parseFeedRangeId('-80')!, checkpoint: at(6) }
    driver.tell({ kind: 'join', held: members, next })
    for (const member of members) {
      driver.tell({
        kind: 'pumpClosed',
        held: member,
        checkpoint: at(6),
        reason: 'rangeGone',
        replacement: undefined,
      })
    }
    driver.answer({ op: 'replace', reply: 'lost' })
    expect(driver.pending('release')).toMatchObject({
      request: { releases: members.map((member) => ({ ...member, checkpoint: at(6) })) },
    })
    driver.answer({ op: 'release', reply: ['lost', 'released'] })
    expect(driver.core.held().map(({ held: { leaseId } }) => leaseId)).not.toContain('40-80')
    expect(driver.of('startPump')).toEqual([])
  })

  test.each(['one is draining', 'one is at another epoch', 'the host leaves'])(
    'nothing is joined when %s',
    (why) => {
      const driver = running()
      if (why === 'the host leaves') driver.tell({ kind: 'leave' })
      if (why === 'one is draining') {
        driver.tell({ kind: 'hint', hint: 'plan', jitter: 0 })
        const owner = { host: 'a', incarnation: 'i' }
        driver.read(
          IDS.map((id) => lease(id, { owner, epoch: 7, target: id === '40-80' ? 'b' : 'a' })),
        )
      }
      const epoch = why === 'one is at another epoch' ? 6 : 7
      driver.tell({
        kind: 'join',
        held: [held('-40'), held('40-80', epoch)],
        next: { range: parseFeedRangeId('-80')!, checkpoint: at(6) },
      })
      expect(Object.values(states(driver))).not.toContain('replacing')
    },
  )

  test('TTL-15 a range that begins anew replaces its lease by itself at the lower position', () => {
    const driver = running()
    driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(4) })
    driver.answer({ op: 'checkpoint', reply: ['stored'] })
    driver.tell({
      kind: 'pumpClosed',
      held: held('-40'),
      checkpoint: undefined,
      reason: 'resynchronized',
      replacement: { cause: 'restart', checkpoint: at(0) },
    })
    const range = parseFeedRangeId('-40')!
    expect(driver.pending('replace')).toMatchObject({
      request: { old: [held('-40')], next: [{ range, checkpoint: at(0) }] },
    })
    const again = lease('-40', { owner: { host: 'a', incarnation: 'i' }, epoch: 9 })
    driver.answer({ op: 'replace', reply: [{ leaseId: '-40', epoch: 9, lease: again }] })
    const [started] = driver.of('startPump')
    expect(started).toMatchObject({ held: held('-40', 9), lease: { checkpoint: at(0) } })
    expect(driver.core.held().find(({ held: one }) => one.leaseId === '-40')?.stored).toEqual(at(0))
  })

  describe('LE-15 a lease that is to be cut', () => {
    function cutting(): Driver {
      const driver = running({ handoffTimeoutMs: 1_000, shutdownTimeoutMs: 1_500 })
      driver.tell({
        kind: 'cut',
        held: held('-40'),
        parts: CHILDREN.map((id) => parseFeedRangeId(id)!),
      })
      return driver
    }

    test('LE-15 drains, and is replaced by its parts at the position where it then stands', () => {
      const driver = cutting()
      expect(driver.of('drainPump')).toMatchObject([{ held: held('-40'), reason: 'rangeGone' }])
      expect(driver.pending('replace')).toBeUndefined()
      driver.tell({
        kind: 'pumpClosed',
        held: held('-40'),
        checkpoint: at(5),
        reason: 'rangeGone',
        replacement: undefined,
      })
      expect(driver.pending('replace')).toMatchObject({
        request: {
          old: [held('-40')],
          next: CHILDREN.map((id) => ({ range: parseFeedRangeId(id), checkpoint: at(5) })),
        },
      })
      driver.answer({ op: 'replace', reply: children() })
      expect(driver.of('startPump')).toHaveLength(2)
      expect(driver.notices('replaced')).toMatchObject([{ notice: { cause: 'cut' } }])
    })

    test('LE-15 keeps a position that was stored before where its pump tells of none', () => {
      const driver = cutting()
      driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(3) })
      driver.tell({
        kind: 'pumpClosed',
        held: held('-40'),
        checkpoint: undefined,
        reason: 'rangeGone',
        replacement: undefined,
      })
      const next = CHILDREN.map(() => ({ checkpoint: at(3) }))
      expect(driver.pending('replace')).toMatchObject({ request: { next } })
    })

    test.each([
      ['split', { cause: 'split', ranges: [parseFeedRangeId('-30')!, parseFeedRangeId('30-40')!] }],
      ['restart', { cause: 'restart', checkpoint: at(1) }],
    ] as const)('LE-15 whose pump ends with a %s goes that way', (_, replacement) => {
      const driver = cutting()
      driver.tell({
        kind: 'pumpClosed',
        held: held('-40'),
        checkpoint: at(5),
        reason: 'rangeGone',
        replacement,
      })
      const next =
        replacement.cause === 'split'
          ? replacement.ranges.map((range) => ({ range, checkpoint: at(5) }))
          : [{ range: parseFeedRangeId('-40'), checkpoint: at(1) }]
      expect(driver.pending('replace')).toMatchObject({ request: { next } })
    })

    test.each([
      ['observerStuck', 'releasing'],
      ['fenced', 'fenced'],
    ] as const)('LE-15 whose pump ends with %s is %s', (reason, state) => {
      const driver = cutting()
      driver.tell({
        kind: 'pumpClosed',
        held: held('-40'),
        checkpoint: at(5),
        reason,
        replacement: undefined,
      })
      expect(states(driver)['-40']).toBe(state)
      expect(driver.pending('replace')).toBeUndefined()
    })

    test('LE-15 is released as it is when the host leaves, in the time that it has for that', () => {
      const driver = cutting()
      driver.tell({ kind: 'leave' })
      expect(driver.of('drainPump').map(({ reason }) => reason)).toEqual([
        'rangeGone',
        ...IDS.map(() => 'shutdown'),
      ])
      driver.tell({
        kind: 'pumpClosed',
        held: held('-40'),
        checkpoint: at(5),
        reason: 'shutdown',
        replacement: undefined,
      })
      expect(driver.pending('release')).toMatchObject({ request: { releases: [held('-40')] } })
      expect(driver.pending('replace')).toBeUndefined()
    })

    /** A pump that was aborted closes. */
    function abortedPumpCloses(driver: Driver): void {
      const { reason } = driver.of('abortPump')[0]!
      driver.tell({
        kind: 'pumpClosed',
        held: held('-40'),
        checkpoint: at(5),
        reason,
        replacement: undefined,
      })
    }

    test('LE-15 and whose batch hangs is aborted, and cut at the position that is stored', () => {
      const driver = cutting()
      driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(3) })
      driver.answer({ op: 'checkpoint', reply: ['stored'] })
      driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(4) })
      driver.passTo(999)
      expect(driver.of('abortPump')).toEqual([])
      driver.passTo(1_000)
      expect(driver.of('abortPump')).toMatchObject([{ held: held('-40'), reason: 'rangeGone' }])
      abortedPumpCloses(driver)
      const next = CHILDREN.map((id) => ({ range: parseFeedRangeId(id), checkpoint: at(3) }))
      expect(driver.pending('replace')).toMatchObject({ request: { old: [held('-40')], next } })
      driver.answer({ op: 'replace', reply: children() })
      expect(driver.of('startPump')).toHaveLength(2)
    })

    test('LE-15 and whose batch hangs is aborted when the time of what came between is over', () => {
      const driver = cutting()
      driver.passTo(900)
      driver.tell({ kind: 'leave' })
      driver.passTo(2_399)
      expect(driver.of('abortPump')).toEqual([])
      driver.passTo(2_400)
      const aborted = driver.of('abortPump').find((one) => one.held.leaseId === '-40')
      expect(aborted).toMatchObject({ reason: 'shutdown' })
    })

    test('LE-15 and is aborted for it goes as it is when the host leaves then', () => {
      const driver = cutting()
      driver.passTo(1_000)
      driver.tell({ kind: 'leave' })
      abortedPumpCloses(driver)
      expect(driver.pending('replace')).toBeUndefined()
      expect(driver.pending('release')).toMatchObject({ request: { releases: [held('-40')] } })
    })

    test('LE-15 at another epoch, or not worked on, is left alone', () => {
      const driver = running()
      const parts = CHILDREN.map((id) => parseFeedRangeId(id)!)
      driver.tell({ kind: 'cut', held: held('-40', 6), parts })
      split(driver)
      driver.tell({ kind: 'cut', held: held('-40'), parts })
      expect(driver.of('drainPump')).toEqual([])
    })
  })
})
