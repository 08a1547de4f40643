import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BatchAttempts, Change } from '@tidemark/contracts'
import {
  DIED,
  Driver,
  FAILURE,
  POLICY,
  attempts,
  change,
  changes,
  failsOn,
  type World,
} from './delivery-driver.fixture.ts'

const HALT = { ...POLICY, mode: 'haltRange' as const }

describe('a batch that fails', () => {
  test('PH-7 D1 is tried as a whole first, then halved to the failing change, and goes on as a whole behind it', () => {
    const driver = new Driver(failsOn(6))
    expect(driver.deliver('page', changes(8))).toBe('done')
    expect(driver.calls).toEqual([
      [1, 8, 1],
      [1, 8, 2],
      [1, 8, 3],
      [1, 4, 1],
      [5, 8, 1],
      [5, 6, 1],
      [5, 5, 1],
      [6, 6, 1],
      [6, 6, 2],
      [6, 6, 3],
      [7, 8, 1],
    ])
    expect(driver.dead).toEqual([6])
    expect(driver.done).toEqual([1, 2, 3, 4, 5, 7, 8])
    expect(driver.of('setAside')).toEqual([
      { kind: 'setAside', from: 5, error: FAILURE, attempt: 3 },
    ])
  })

  test('PH-7 D2 of one change needs no halving', () => {
    const driver = new Driver(failsOn(1))
    driver.deliver('page', changes(1))
    expect(driver.calls).toEqual([
      [1, 1, 1],
      [1, 1, 2],
      [1, 1, 3],
    ])
    expect(driver.dead).toEqual([1])
  })

  test('PH-15 D15 of an observer that takes one change after the other: none comes again but the one that fails', () => {
    const modes = fc.constantFrom('deadLetter' as const, 'retryForever' as const)
    const failing = fc.dictionary(
      fc.integer({ min: 1, max: 40 }).map(String),
      fc.integer({ min: 1, max: 9 }),
    )
    const sources = fc.constantFrom('page' as const, 'lane' as const)
    fc.assert(
      fc.property(modes, failing, sources, (mode, given, source) => {
        const left = new Map(Object.entries(given).map(([n, times]) => [Number(n), times]))
        const tries = new Map<number, number>()
        const acceptsOne = ({ lsn }: Change): boolean => {
          tries.set(lsn, (tries.get(lsn) ?? 0) + 1)
          const times = left.get(lsn) ?? 0
          left.set(lsn, times - 1)
          return times <= 0
        }
        const world = { accepts: () => true, acceptsOne }
        const driver = new Driver(world, { policy: { ...POLICY, mode } })
        expect(driver.deliver(source, changes(40))).toBe('done')
        const isDead = (n: number): boolean => mode === 'deadLetter' && (given[n] ?? 0) >= 3
        const all = Array.from({ length: 40 }, (_, index) => index + 1)
        expect(driver.dead).toEqual(all.filter(isDead))
        expect(driver.done).toEqual(all.filter((n) => !isDead(n)))
        for (const n of all) expect(tries.get(n)).toBe(isDead(n) ? 3 : (given[n] ?? 0) + 1)
      }),
    )
  })

  test('PH-7 D1 D2 whatever fails: exactly that is isolated, everything else is accepted once, in order', () => {
    const batches = fc
      .integer({ min: 1, max: 200 })
      .chain((length) =>
        fc.tuple(
          fc.constant(length),
          fc.uniqueArray(fc.integer({ min: 1, max: length }), { maxLength: 8 }),
        ),
      )
    const sources = fc.constantFrom('page' as const, 'lane' as const)
    fc.assert(
      fc.property(
        batches,
        fc.integer({ min: 1, max: 4 }),
        sources,
        (given, maxAttempts, source) => {
          const [length, failing] = given
          const driver = new Driver(failsOn(...failing), { policy: { ...POLICY, maxAttempts } })
          expect(driver.deliver(source, changes(length))).toBe('done')
          expect(driver.dead).toEqual([...failing].sort((a, b) => a - b))
          const bad = new Set(failing)
          const all = Array.from({ length }, (_, index) => index + 1)
          expect(driver.done).toEqual(all.filter((n) => !bad.has(n)))
          // Each failing change costs its own tries and those of the parts around it.
          const steps = Math.ceil(Math.log2(length + 1)) + 1
          expect(driver.calls.length).toBeLessThanOrEqual(
            (maxAttempts + 1) * (failing.length + 1) + 3 * steps * failing.length,
          )
        },
      ),
    )
  })

  test('PH-7 D3 by default it is tried for ever, whole, and nothing is stored', () => {
    let left = 50
    const policy = { ...POLICY, mode: 'retryForever' as const }
    const driver = new Driver(
      { accepts: () => --left < 0, end: () => (left < 0 ? 'now' : 'no') },
      { policy },
    )
    expect(driver.deliver('lane', changes(8))).toBe('done')
    expect(driver.calls.slice(0, 50)).toEqual(
      Array.from({ length: 50 }, (_, index) => [1, 8, index + 1]),
    )
    expect(driver.stored).toBeUndefined()
  })

  test('PH-7 D3 tries of earlier owners count on', () => {
    const policy = { ...POLICY, mode: 'retryForever' as const }
    const stored = attempts(1, { count: 7, size: 2 })
    const driver = new Driver({ accepts: () => true }, { policy, stored })
    driver.deliver('page', changes(8))
    expect(driver.calls).toEqual([[1, 8, 8]])
  })

  test('PH-7 D4 with haltRange nothing is cut; opened again it gets one try', () => {
    const driver = new Driver(failsOn(6), { policy: HALT })
    driver.deliver('page', changes(8))
    expect(driver.calls).toEqual([
      [1, 8, 1],
      [1, 8, 2],
      [1, 8, 3],
    ])
    expect(driver.of('halt')).toMatchObject([{ lsn: 8, error: FAILURE, attempt: 3 }])
    const { stored } = driver
    expect(stored).toEqual(attempts(1, { count: 2, size: 0 }))
    const again = new Driver(failsOn(6), { policy: HALT, stored })
    again.deliver('page', changes(8))
    expect(again.calls).toEqual([[1, 8, 3]])
    expect(again.stored).toEqual(stored)
    const repaired = new Driver({ accepts: () => true }, { policy: HALT, stored })
    repaired.deliver('page', changes(8))
    expect(repaired.done).toHaveLength(8)
  })

  test.each([
    { maxAttempts: 3, count: 3, halts: true },
    { maxAttempts: 3, count: 2, halts: false },
    { maxAttempts: 1, count: 2, halts: false },
    { maxAttempts: 1, count: 3, halts: true },
  ])(
    'PH-7 D4 D9 after $count ends that nobody saw, of $maxAttempts tries: halts unseen: $halts',
    ({ maxAttempts, count, halts }) => {
      const stored = attempts(1, { count, size: 0 })
      const driver = new Driver(
        { accepts: () => true },
        { policy: { ...HALT, maxAttempts }, stored },
      )
      driver.deliver('page', changes(8))
      expect(driver.calls).toHaveLength(halts ? 0 : 1)
      expect(driver.of('halt').map(({ error }) => String(error))).toEqual(
        halts ? [expect.stringContaining('ProcessEndedError')] : [],
      )
    },
  )
})

describe('tries of a process that died', () => {
  const accepts: World = { accepts: () => true }

  test.each([
    {
      length: 8,
      count: 3,
      size: 0,
      calls: [
        [1, 4, 1],
        [5, 8, 1],
      ],
    },
    { length: 8, count: 2, size: 0, calls: [[1, 8, 3]] },
    {
      length: 4,
      count: 2,
      size: 1,
      calls: [
        [1, 1, 3],
        [2, 4, 1],
      ],
    },
    { length: 1, count: 2, size: 1, calls: [[1, 1, 3]] },
    // Several tell nothing of one alone.
    { length: 1, count: 9, size: 0, calls: [[1, 1, 1]] },
    { length: 1, count: 9, size: 4, calls: [[1, 1, 1]] },
  ])(
    'PH-7 D8 $count of $size, found again in a batch of $length',
    ({ length, count, size, calls }) => {
      const driver = new Driver(accepts, { stored: attempts(1, { count, size }) })
      driver.deliver('page', changes(length))
      expect(driver.calls).toEqual(calls)
      expect(driver.dead).toEqual([])
    },
  )

  test.each([
    { maxAttempts: 3, count: 3, dead: [1] },
    { maxAttempts: 3, count: 2, dead: [] },
    { maxAttempts: 1, count: 2, dead: [] },
    { maxAttempts: 1, count: 3, dead: [1] },
    { maxAttempts: 5, count: 4, dead: [] },
  ])(
    'PH-7 D9 of one change alone: $count, where it may have $maxAttempts, give up $dead',
    ({ maxAttempts, count, dead }) => {
      const stored = attempts(1, { count, size: 1 })
      const policy = { ...POLICY, maxAttempts }
      const driver = new Driver(accepts, { policy, stored })
      driver.deliver('page', changes(4))
      expect(driver.dead).toEqual(dead)
      expect(driver.done).toEqual(dead.length > 0 ? [2, 3, 4] : [1, 2, 3, 4])
    },
  )

  test('PH-7 D8 what comes before their first change, also in pages before, comes in order and whole', () => {
    const stored = attempts(6, { count: 2, size: 1 })
    const driver = new Driver(accepts, { hasLanes: true, stored })
    expect(driver.deliver('page', changes(3))).toBe('done')
    expect(driver.deliver('page', changes(5, 4))).toBe('done')
    expect(driver.deliver('page', changes(3, 9))).toBe('dealt')
    expect(driver.calls).toEqual([
      [1, 3, 1],
      [4, 5, 1],
      [6, 6, 3],
      [7, 8, 1],
    ])
  })

  test('PH-7 D8 whose first change does not come any more, they count for nobody', () => {
    const stored = attempts(4, { count: 3, size: 1 })
    const driver = new Driver(accepts, { hasLanes: true, stored })
    // It was written again: 4 is missing.
    expect(driver.deliver('page', [change(3), change(5)])).toBe('dealt')
    expect(driver.deliver('page', [change(4)])).toBe('dealt')
    expect(driver.dead).toEqual([])
  })

  test('PH-7 D9 a change that fails while none may go away is not given up later without another try', () => {
    let left = 9
    const world: World = { accepts: () => left-- <= 0 }
    const policy = { ...POLICY, maxConsecutiveDeadLetters: 0 }
    const driver = new Driver(world, { policy })
    driver.deliver('page', changes(1))
    expect(driver.calls).toHaveLength(10)
    expect(driver.dead).toEqual([])
    // Nor by the next owner: all of these were seen.
    const stores = driver.of('store').map(({ tries }) => tries)
    expect(new Set(stores.map(({ count }) => count))).toEqual(new Set([2]))
  })

  test('PH-7 D7 changes that end every process that touches them are found, and set aside; no other one is', () => {
    const deadly = fc.uniqueArray(fc.integer({ min: 1, max: 24 }), { minLength: 1, maxLength: 3 })
    const sizes = fc.constantFrom(1, 4, 8, 24)
    fc.assert(
      fc.property(deadly, sizes, fc.integer({ min: 1, max: 4 }), (poison, size, maxAttempts) => {
        const history = livesUntilDone(new Set(poison), { size, maxAttempts })
        expect(history.dead).toEqual([...poison].sort((a, b) => a - b))
        expect(history.done.size).toBe(24 - poison.length)
        // The whole, the parts of it once each, the change alone.
        const least = Math.max(3, maxAttempts)
        const each = 2 * least + Math.ceil(Math.log2(size)) + 1
        expect(history.deaths).toBeLessThanOrEqual(each * poison.length)
      }),
    )
  })
})

/** One process after the other, each of which dies with the poison in hand, until all is done. Pages have `size` changes. */
function livesUntilDone(
  poison: ReadonlySet<number>,
  { size, maxAttempts }: { size: number; maxAttempts: number },
): {
  readonly dead: readonly number[]
  readonly done: ReadonlySet<number>
  readonly deaths: number
} {
  const dead: number[] = []
  const done = new Set<number>()
  let deaths = 0
  let stored: BatchAttempts | undefined
  let position = 0
  const accepts: World['accepts'] = (given) => {
    if (given.some((one) => poison.has(one.lsn))) throw DIED
    return true
  }
  while (position < 24) {
    expect(deaths).toBeLessThan(100)
    const driver = new Driver({ accepts }, { policy: { ...POLICY, maxAttempts }, stored })
    try {
      while (position < 24) {
        driver.deliver('page', changes(Math.min(size, 24 - position), position + 1))
        position += Math.min(size, 24 - position)
      }
    } catch (error) {
      expect(error).toBe(DIED)
      deaths += 1
    }
    dead.push(...driver.dead)
    for (const n of driver.done) done.add(n)
    stored = driver.stored
    // It is stored before the change that its tries begin with.
    if (stored !== undefined) position = Number(stored.first!.split('-')[0]) - 1
  }
  return { dead, done, deaths }
}

describe('what is stored', () => {
  test('D5 before the first call, and before each one since something failed; it begins with the first change that is not done', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 4 }),
        (failing, maxAttempts) => {
          const driver = new Driver(failsOn(...failing), { policy: { ...POLICY, maxAttempts } })
          const over = new Set<number>()
          driver.world.stores = ({ first }) => {
            for (const n of [...driver.done, ...driver.dead]) over.add(n)
            expect(over).toEqual(new Set(changes(lsnOf(first) - 1).map((one) => Number(one.lsn))))
            return true
          }
          driver.deliver('page', changes(30))
          const [first, ...others] = driver.of('call')
          expect(first?.tries).toEqual({ count: 1, size: 0 })
          for (const { piece, tries } of others) expect(tries?.count).toBe(piece.attempt)
        },
      ),
    )
  })

  test('D5 nothing of later pages, until something fails', () => {
    const driver = new Driver(failsOn(14))
    driver.deliver('page', changes(4))
    driver.deliver('page', changes(4, 5))
    expect(driver.of('call').map(({ tries }) => tries !== undefined)).toEqual([true, false])
    driver.deliver('page', changes(8, 9))
    expect(
      driver
        .of('call')
        .slice(2)
        .map(({ tries }) => tries !== undefined),
    ).toEqual([false, ...Array.from({ length: driver.calls.length - 3 }, () => true)])
  })

  test('D5 the first page that goes to the lanes is announced, and no other one', () => {
    const driver = new Driver(failsOn(), { hasLanes: true })
    expect(driver.deliver('page', changes(4))).toBe('dealt')
    expect(driver.stored).toEqual(attempts(1, { count: 1, size: 0 }))
    expect(driver.core.isAnnounced).toBe(true)
    expect(driver.deliver('page', changes(4, 5))).toBe('dealt')
    expect(driver.of('store')).toHaveLength(1)
  })

  test('D5 without a lease nothing is called, and no page goes to the lanes', () => {
    const world: World = { accepts: () => true, stores: () => false }
    const serial = new Driver(world)
    expect(serial.deliver('page', changes(4))).toBe('ended')
    expect(serial.calls).toEqual([])
    const lanes = new Driver(world, { hasLanes: true })
    expect(lanes.deliver('page', changes(4))).toBe('ended')
  })

  test.each([
    { outcome: { kind: 'fenced' } as const, withdrawn: true },
    { outcome: { kind: 'ended', begun: false } as const, withdrawn: true },
    { outcome: { kind: 'ended', begun: true } as const, withdrawn: false },
  ])('D6 a try that ended as $outcome is withdrawn: $withdrawn', ({ outcome, withdrawn }) => {
    const driver = new Driver(failsOn())
    const first = driver.core.batch('page', changes(4))
    expect(driver.tell(first, { kind: 'begin' }).kind).toBe('call')
    expect(driver.tell(first, { kind: 'called', outcome: { ...outcome, durationMs: 1 } })).toEqual({
      kind: 'over',
      outcome: 'ended',
    })
    expect(driver.notes).toEqual(withdrawn ? [{ kind: 'withdraw', from: 0, tries: undefined }] : [])
  })

  test.each(['fenced', 'ended'] as const)(
    'PH-15 D6 of a try that ended as %s, what was accepted of it is done, and the rest was not tried',
    (kind) => {
      const driver = new Driver(failsOn())
      const first = driver.core.batch('page', changes(4))
      driver.tell(first, { kind: 'begin' })
      const outcome = { kind, begun: false, durationMs: 1 } as const
      driver.tell(first, { kind: 'called', outcome, accepted: 2 })
      expect(driver.notes).toEqual([
        {
          kind: 'emit',
          notice: expect.objectContaining({ kind: 'batchDone', changes: 2, lsn: 2 }),
        },
        { kind: 'withdraw', from: 2, tries: undefined },
      ])
    },
  )

  test('D6 tries before the one that is withdrawn stay', () => {
    const stored = attempts(3, { count: 2, size: 0 })
    const driver = new Driver({ ...failsOn(), stores: ({ count }) => count !== 3 }, { stored })
    expect(driver.deliver('page', changes(8))).toBe('ended')
    expect(driver.done).toEqual([1, 2])
    expect(driver.stored).toEqual(stored)
  })

  test('D9 before a letter is put away, that its change is to be tried once more', () => {
    const driver = new Driver({ ...failsOn(2), keeps: () => false })
    expect(driver.deliver('page', changes(2))).toBe('ended')
    expect(driver.stored).toEqual(attempts(2, { count: 2, size: 1 }))
    const lost = new Driver({
      ...failsOn(1),
      stores: (tries) => tries.count !== 2 || tries.size !== 1,
    })
    expect(lost.deliver('page', changes(1))).toBe('ended')
    expect(lost.dead).toEqual([])
  })
})

function lsnOf(first: string | undefined): number {
  return Number(first!.split('-')[0])
}

describe('dead letters', () => {
  test('PH-7 D10 no more than so many without a success between them; the next is tried until it is accepted', () => {
    let isDown = true
    let calls = 0
    const world: World = { accepts: () => !isDown || (calls += 1) < 0 }
    const policy = { ...POLICY, maxAttempts: 1, maxConsecutiveDeadLetters: 3 }
    const driver = new Driver(world, { policy })
    world.end = () => {
      if (calls > 40) isDown = false
      return 'no'
    }
    expect(driver.deliver('lane', changes(10))).toBe('done')
    expect(driver.dead).toEqual([1, 2, 3])
    expect(driver.done).toEqual([4, 5, 6, 7, 8, 9, 10])
    const suspended = driver.notes.filter(
      (note) => note.kind === 'emit' && note.notice.kind === 'deadLettersSuspended',
    )
    expect(suspended).toEqual([
      { kind: 'emit', notice: { kind: 'deadLettersSuspended', consecutive: 3, lsn: 4 } },
    ])
  })

  test('PH-7 D10 that they are suspended is told again when it happens again after a success', () => {
    let isDown = true
    let calls = 0
    const world: World = { accepts: () => !isDown || (calls += 1) < 0 }
    const policy = { ...POLICY, maxAttempts: 1, maxConsecutiveDeadLetters: 1 }
    const driver = new Driver(world, { policy })
    world.end = () => {
      if (calls > 20) isDown = false
      return 'no'
    }
    for (const first of [1, 11]) {
      ;[isDown, calls] = [true, 0]
      expect(driver.deliver('lane', changes(10, first))).toBe('done')
    }
    const lsns = driver.notes.flatMap((note) =>
      note.kind === 'emit' && note.notice.kind === 'deadLettersSuspended' ? [note.notice.lsn] : [],
    )
    expect(lsns).toEqual([2, 12])
  })

  test('PH-7 D10 a success between them begins the count again', () => {
    const policy = { ...POLICY, maxAttempts: 1, maxConsecutiveDeadLetters: 1 }
    const driver = new Driver(failsOn(1, 3, 5), { policy })
    expect(driver.deliver('page', changes(6))).toBe('done')
    expect(driver.dead).toEqual([1, 3, 5])
  })

  test.each(['retryForever', 'haltRange', 'deadLetter'] as const)(
    'PH-7 D11 one that was sent back, with %s: settled when it is accepted, else put back after its tries',
    (mode) => {
      const policy = { ...POLICY, mode, maxConsecutiveDeadLetters: 0 }
      const mended = new Driver(failsOn(), { policy })
      expect(mended.deliver('letter', changes(1))).toBe('done')
      expect(mended.steps.map(({ kind }) => kind)).toEqual(['call', 'settle', 'over'])
      const failing = new Driver(failsOn(1), { policy })
      expect(failing.deliver('letter', changes(1))).toBe('done')
      expect(failing.steps.map(({ kind }) => kind)).toEqual([
        'call',
        'pause',
        'call',
        'pause',
        'call',
        'setAside',
        'over',
      ])
      expect(failing.stored).toBeUndefined()
    },
  )
})

describe('the end', () => {
  test('D12 from any moment on no observer is called', () => {
    const situations = fc.record({
      failing: fc.uniqueArray(fc.integer({ min: 1, max: 16 }), { maxLength: 4 }),
      mode: fc.constantFrom('retryForever' as const, 'deadLetter' as const, 'haltRange' as const),
      source: fc.constantFrom('page' as const, 'lane' as const),
      steps: fc.nat(20),
      tries: fc.constantFrom(undefined, { count: 3, size: 0 }, { count: 3, size: 1 }),
    })
    fc.assert(
      fc.property(situations, ({ failing, mode, source, steps, tries }) => {
        const driver = new Driver(failsOn(...failing), {
          policy: { ...POLICY, mode },
          stored: tries && attempts(1, tries),
        })
        driver.world.end = () => (driver.steps.length >= steps ? 'now' : 'no')
        const outcome = driver.deliver(source, changes(16))
        if (outcome === 'done') return
        expect(outcome).toBe('ended')
        const late = driver.steps.slice(steps).map(({ kind }) => kind)
        expect(late.filter((kind) => kind === 'call')).toEqual([])
      }),
    )
  })

  test('D12 when what was taken is to be finished, calls go on, and what fails is left to the next owner', () => {
    const driver = new Driver({ ...failsOn(), end: () => 'finishing' })
    expect(driver.deliver('lane', changes(4))).toBe('done')
    const failing = new Driver({ ...failsOn(3), end: () => 'finishing' })
    expect(failing.deliver('lane', changes(4))).toBe('ended')
    expect(failing.calls).toEqual([[1, 4, 1]])
  })
})

test('D13 a piece is a suspect when it may have ended a process: several times, or found in halves', () => {
  const suspects = (tries: BatchAttempts | undefined): readonly boolean[] => {
    const driver = new Driver(failsOn(2), { stored: tries })
    driver.deliver('page', changes(4))
    return driver.of('call').map(({ isSuspect }) => isSuspect)
  }
  expect(suspects(undefined).some(Boolean)).toBe(false)
  expect(suspects(attempts(1, { count: 1, size: 0 })).at(0)).toBe(false)
  expect(suspects(attempts(1, { count: 2, size: 0 })).at(0)).toBe(true)
  expect(suspects(attempts(1, { count: 0, size: 2 })).slice(0, 2)).toEqual([true, false])
})

test('D14 a page that is accepted at once costs one step of each kind, whatever its length', () => {
  const driver = new Driver(failsOn())
  const page = changes(1_000)
  const untouched = new Proxy(page, {
    get: (target, name, receiver) => {
      if (name !== 'length' && name !== '999') throw new Error(`reads ${String(name)}`)
      return Reflect.get(target, name, receiver) as unknown
    },
  })
  const batch = driver.core.batch('page', untouched)
  expect(driver.tell(batch, { kind: 'begin' })).toMatchObject({
    kind: 'call',
    piece: { from: 0, to: 1_000 },
  })
  const outcome = { kind: 'done', durationMs: 1 } as const
  expect(driver.tell(batch, { kind: 'called', outcome })).toEqual({ kind: 'over', outcome: 'done' })
  expect(driver.notes).toMatchObject([
    { kind: 'emit', notice: { kind: 'batchDone', changes: 1_000 } },
  ])
})
