import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Bisection, type FailurePolicy, type TriesOfPiece } from './bisection.ts'

const POLICY: FailurePolicy = { mode: 'deadLetter', maxAttempts: 3, maxConsecutiveDeadLetters: 100 }

/** What happened to a batch of which some changes fail always. */
interface Outcome {
  readonly pieces: readonly (readonly [from: number, to: number, attempt: number])[]
  readonly dead: readonly number[]
  /** In the order in which they were accepted. */
  readonly done: readonly number[]
}

function run(
  length: number,
  failing: readonly number[],
  { policy = POLICY, resumed }: { policy?: FailurePolicy; resumed?: TriesOfPiece } = {},
): Outcome {
  const bad = new Set(failing)
  const bisection = new Bisection(length, policy, resumed)
  const pieces: [number, number, number][] = []
  const dead: number[] = []
  const done: number[] = []
  for (let piece = bisection.piece; piece !== undefined; piece = bisection.piece) {
    const { from, to, attempt } = piece
    const indexes = Array.from({ length: to - from }, (_, index) => from + index)
    if (bisection.isSpent) {
      dead.push(from)
      bisection.passed()
      continue
    }
    pieces.push([from, to, attempt])
    if (!indexes.some((index) => bad.has(index))) {
      done.push(...indexes)
      bisection.passed()
      continue
    }
    const verdict = bisection.failed()
    if (verdict === 'halt') break
    if (verdict !== 'isolated') continue
    dead.push(from)
    bisection.passed()
  }
  return { pieces, dead, done }
}

describe('a batch that fails', () => {
  test('PH-7 is tried as a whole first, then halved to the failing change, and goes on as a whole behind it', () => {
    expect(run(8, [5])).toEqual({
      pieces: [
        [0, 8, 1],
        [0, 8, 2],
        [0, 8, 3],
        [0, 4, 1],
        [4, 8, 1],
        [4, 6, 1],
        [4, 5, 1],
        [5, 6, 1],
        [5, 6, 2],
        [5, 6, 3],
        [6, 8, 1],
      ],
      dead: [5],
      done: [0, 1, 2, 3, 4, 6, 7],
    })
  })

  test('PH-7 of one change needs no halving', () => {
    expect(run(1, [0])).toEqual({
      pieces: [
        [0, 1, 1],
        [0, 1, 2],
        [0, 1, 3],
      ],
      dead: [0],
      done: [],
    })
  })

  test('PH-7 whatever fails: exactly that is isolated, everything else is accepted once, in order', () => {
    const batches = fc
      .integer({ min: 1, max: 200 })
      .chain((length) =>
        fc.tuple(
          fc.constant(length),
          fc.uniqueArray(fc.nat({ max: length - 1 }), { maxLength: 8 }),
        ),
      )
    fc.assert(
      fc.property(batches, fc.integer({ min: 1, max: 4 }), ([length, failing], maxAttempts) => {
        const { dead, done, pieces } = run(length, failing, { policy: { ...POLICY, maxAttempts } })
        expect(dead).toEqual([...failing].sort((a, b) => a - b))
        const bad = new Set(failing)
        const all = Array.from({ length }, (_, index) => index)
        expect(done).toEqual(all.filter((index) => !bad.has(index)))
        // Each failing change costs its own tries and those of the parts around it.
        const steps = Math.ceil(Math.log2(length + 1)) + 1
        expect(pieces.length).toBeLessThanOrEqual(
          (maxAttempts + 1) * (failing.length + 1) + 3 * steps * failing.length,
        )
      }),
    )
  })

  test('PH-7 by default it is tried for ever, whole', () => {
    const bisection = new Bisection(8, { ...POLICY, mode: 'retryForever' }, { count: 7, size: 2 })
    for (let attempt = 8; attempt < 50; attempt += 1) {
      expect(bisection.piece).toEqual({ from: 0, to: 8, attempt })
      expect(bisection.failed()).toBe('again')
    }
  })

  test('PH-7 with haltRange nothing is cut; opened again it gets one try', () => {
    const policy: FailurePolicy = { ...POLICY, mode: 'haltRange' }
    expect(run(8, [5], { policy }).pieces).toEqual([
      [0, 8, 1],
      [0, 8, 2],
      [0, 8, 3],
    ])
    const halted = new Bisection(8, policy)
    for (const verdict of ['again', 'again', 'halt']) {
      expect(halted.failed()).toBe(verdict)
    }
    const resumed = halted.onceMore
    expect(run(8, [5], { policy, resumed }).pieces).toEqual([[0, 8, 3]])
    expect(run(8, [], { policy, resumed }).done).toHaveLength(8)
    // Each of these tries took its process with it.
    expect(new Bisection(8, policy, { count: 3, size: 0 }).isSpent).toBe(true)
    expect(new Bisection(8, { ...policy, maxAttempts: 1 }, { count: 2, size: 0 }).isSpent).toBe(
      false,
    )
  })
})

describe('tries of a process that died', () => {
  test('PH-7 count: a batch that was tried often enough is halved at once', () => {
    expect(run(8, [], { resumed: { count: 3, size: 0 } }).pieces).toEqual([
      [0, 4, 1],
      [4, 8, 1],
    ])
    expect(run(8, [], { resumed: { count: 2, size: 0 } }).pieces).toEqual([[0, 8, 3]])
  })

  test('PH-7 count for those changes only that were tried: several tell nothing of one alone', () => {
    expect(run(1, [0], { resumed: { count: 9, size: 0 } }).pieces).toHaveLength(3)
    expect(run(1, [0], { resumed: { count: 9, size: 4 } }).pieces).toHaveLength(3)
    expect(run(1, [0], { resumed: { count: 2, size: 1 } }).pieces).toEqual([[0, 1, 3]])
    expect(run(4, [], { resumed: { count: 2, size: 1 } })).toEqual({
      pieces: [
        [0, 1, 3],
        [1, 4, 1],
      ],
      dead: [],
      done: [0, 1, 2, 3],
    })
    expect(run(4, [], { resumed: { count: 3, size: 1 } }).dead).toEqual([0])
  })

  test('PH-7 a change that fails while none may go away is not given up later without another try', () => {
    const bisection = new Bisection(1, POLICY)
    for (let n = 1; n < 10; n += 1) {
      expect(bisection.failed()).toBe(n < 3 ? 'again' : 'isolated')
      expect(bisection.isSpent).toBe(false)
    }
    // Nor by whoever comes next: all of these were seen.
    expect(new Bisection(1, POLICY, bisection.onceMore).isSpent).toBe(false)
  })

  test('PH-7 are never fewer than three if nobody saw how they ended', () => {
    const policy = { ...POLICY, maxAttempts: 1 }
    expect(run(1, [], { policy, resumed: { count: 2, size: 1 } }).done).toEqual([0])
    expect(run(1, [0], { policy, resumed: { count: 2, size: 1 } }).pieces).toEqual([[0, 1, 3]])
    expect(run(1, [], { policy, resumed: { count: 3, size: 1 } }).dead).toEqual([0])
  })

  test('PH-7 a change that ends every process that touches it is found, and set aside', () => {
    const poison = 5
    let stored: { position: number; attempts: TriesOfPiece } | undefined
    const done = new Set<number>()
    const dead: number[] = []
    let deaths = 0
    // Each round is one process: it stores its tries as they are made, and dies with the poison in hand.
    for (let from = 0; from < 8 && deaths < 50;) {
      const length = 8 - from
      const bisection = new Bisection(length, POLICY, stored?.attempts)
      let died = false
      for (let piece = bisection.piece; piece !== undefined && !died; piece = bisection.piece) {
        if (bisection.isSpent) {
          dead.push(from + piece.from)
          bisection.passed()
          continue
        }
        stored = { position: from + piece.from, attempts: bisection.nextAttempt }
        const indexes = Array.from(
          { length: piece.to - piece.from },
          (_, n) => from + piece.from + n,
        )
        died = indexes.includes(poison)
        if (died) break
        for (const index of indexes) done.add(index)
        bisection.passed()
      }
      if (!died) break
      deaths += 1
      from = stored?.position ?? from
    }
    expect(dead).toEqual([poison])
    expect([...done].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 6, 7])
    // The whole three times, parts of four and of two once each, the change alone three times.
    expect(deaths).toBe(3 + 2 + 3)
  })
})
