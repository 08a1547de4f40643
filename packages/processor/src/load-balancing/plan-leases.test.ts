import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { HostProfile } from '@tidemark/contracts'
import { planLeases, type PlannedHost, type PlannedLease } from './plan-leases.ts'

const NO_BOUND = 2 ** 31 - 1

function host(name: string, profile: Partial<HostProfile> = {}): PlannedHost {
  return {
    host: name,
    profile: { weight: 1, minLeases: 0, maxLeases: NO_BOUND, leaving: false, ...profile },
  }
}

function hosts(count: number): PlannedHost[] {
  return Array.from({ length: count }, (_, index) => host(`h${String(index).padStart(3, '0')}`))
}

function leases(count: number): PlannedLease[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `l${String(index).padStart(5, '0')}`,
    owner: undefined,
    target: undefined,
  }))
}

/** The leases after everybody has acquired what the plan gives. */
function settled(
  before: readonly PlannedLease[],
  targets: ReadonlyMap<string, string>,
): PlannedLease[] {
  return before.map(({ id }) => ({ id, owner: targets.get(id), target: targets.get(id) }))
}

function ascending(a: number, b: number): number {
  return a - b
}

function counts(targets: ReadonlyMap<string, string>, names: readonly string[]): number[] {
  const result = new Map(names.map((name) => [name, 0]))
  for (const name of targets.values()) result.set(name, (result.get(name) ?? 0) + 1)
  return [...result.values()]
}

describe('figures', () => {
  test('LE-5 one to two hosts with 64 leases moves exactly 32', () => {
    const one = planLeases(hosts(1), leases(64))
    const two = planLeases(hosts(2), settled(leases(64), one.targets))
    expect(two.moves).toBe(32)
    expect(counts(two.targets, ['h000', 'h001'])).toEqual([32, 32])
  })

  test('LE-5 the 21st host of 20 with 1000 leases moves 47', () => {
    const before = planLeases(hosts(20), leases(1000))
    const after = planLeases(hosts(21), settled(leases(1000), before.targets))
    expect(after.moves).toBe(47)
    expect([...after.targets.values()].filter((name) => name === 'h020')).toHaveLength(47)
  })

  test('LE-5 a leaving host gets nothing, and only its leases move', () => {
    const before = planLeases(hosts(4), leases(64))
    const [first, ...others] = hosts(4)
    const leaving = host(first!.host, { leaving: true })
    const after = planLeases([leaving, ...others], settled(leases(64), before.targets))
    expect(counts(after.targets, ['h000', 'h001', 'h002', 'h003']).sort(ascending)).toEqual([
      0, 21, 21, 22,
    ])
    for (const [id, name] of before.targets) {
      if (name !== 'h000') expect(after.targets.get(id)).toBe(name)
    }
  })

  test('a hand-over that is under way is not turned back by the next plan', () => {
    const two = planLeases(hosts(2), [
      { id: 'a', owner: 'h000', target: 'h001' },
      { id: 'b', owner: 'h000', target: 'h000' },
    ])
    expect([...two.targets]).toEqual(
      expect.arrayContaining([
        ['a', 'h001'],
        ['b', 'h000'],
      ]),
    )
  })

  test('LE-9 more hosts than leases: each lease has one host, the surplus stands by', () => {
    const plan = planLeases(hosts(5), leases(3))
    expect(
      counts(
        plan.targets,
        hosts(5).map((one) => one.host),
      ).sort(ascending),
    ).toEqual([0, 0, 1, 1, 1])
  })

  test('nobody there: every lease is unassigned', () => {
    expect(planLeases([], leases(3)).unassigned).toHaveLength(3)
    expect(planLeases([host('a', { leaving: true })], leases(3)).unassigned).toHaveLength(3)
  })
})

describe('LE-7 bounds', () => {
  test('max is hard, and what it leaves over is reported', () => {
    const plan = planLeases([host('a', { maxLeases: 2 }), host('b', { maxLeases: 3 })], leases(8))
    expect(counts(plan.targets, ['a', 'b'])).toEqual([2, 3])
    expect(plan.unassigned).toEqual(['l00005', 'l00006', 'l00007'])
  })

  test('min comes before the even share', () => {
    const plan = planLeases([host('a', { minLeases: 6 }), host('b'), host('c')], leases(10))
    expect(counts(plan.targets, ['a', 'b', 'c'])).toEqual([6, 2, 2])
  })

  test('mins are shared out if there are too few leases', () => {
    const plan = planLeases(
      [host('a', { minLeases: 6 }), host('b', { minLeases: 6 }), host('c')],
      leases(7),
    )
    expect(counts(plan.targets, ['a', 'b', 'c'])).toEqual([4, 3, 0])
  })

  test('weights share out in proportion', () => {
    const plan = planLeases([host('a', { weight: 3 }), host('b', { weight: 1 })], leases(40))
    expect(counts(plan.targets, ['a', 'b'])).toEqual([30, 10])
  })
})

describe('properties', () => {
  const profile = fc.record({
    weight: fc.constantFrom(1, 1, 1, 2, 0.5),
    minLeases: fc.nat(4),
    maxLeases: fc.constantFrom(4, 8, NO_BOUND, NO_BOUND),
    leaving: fc.constantFrom(false, false, false, true),
  })
  const situation = fc
    .array(profile, { minLength: 0, maxLength: 6 })
    .chain((profiles) => {
      const names = profiles.map((_, index) => `h${index}`)
      const anyone = fc.constantFrom(undefined, 'dead', ...names)
      return fc.record({
        hosts: fc.constant(
          profiles.map((one, index): PlannedHost => ({ host: `h${index}`, profile: one })),
        ),
        leases: fc.array(fc.record({ owner: anyone, target: anyone }), { maxLength: 30 }),
      })
    })
    .map((given) => ({
      hosts: given.hosts,
      leases: given.leases.map((lease, index): PlannedLease => ({
        id: `l${String(index).padStart(3, '0')}`,
        ...lease,
      })),
    }))

  test('LE-5 LE-7 bounds hold, balance is within one, nothing is left over that could be taken', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const plan = planLeases(given.hosts, given.leases)
        const takers = given.hosts.filter((one) => !one.profile.leaving)
        const number = new Map(takers.map((one) => [one.host, 0]))
        for (const name of plan.targets.values()) {
          expect(number.has(name)).toBe(true)
          number.set(name, number.get(name)! + 1)
        }
        expect(plan.targets.size + plan.unassigned.length).toBe(given.leases.length)
        for (const { host: name, profile: one } of takers) {
          expect(number.get(name)).toBeLessThanOrEqual(one.maxLeases)
          if (plan.unassigned.length > 0) expect(number.get(name)).toBe(one.maxLeases)
        }
        const unbound = takers.filter(({ host: name, profile: one }) => {
          const own = number.get(name)!
          return own > Math.min(one.minLeases, one.maxLeases) && own < one.maxLeases
        })
        for (const a of unbound) {
          for (const b of unbound) {
            if (a.profile.weight !== b.profile.weight) continue
            expect(Math.abs(number.get(a.host)! - number.get(b.host)!)).toBeLessThanOrEqual(1)
          }
        }
      }),
    )
  })

  test('no fewer moves are possible for the shares that were given', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const plan = planLeases(given.hosts, given.leases)
        const names = new Set(
          given.hosts.filter((one) => !one.profile.leaving).map((one) => one.host),
        )
        const held = new Map<string, number>()
        const holderOf = (lease: PlannedLease): string | undefined =>
          [lease.target, lease.owner].find((name) => name !== undefined && names.has(name))
        for (const lease of given.leases) {
          const holder = holderOf(lease)
          if (holder !== undefined) held.set(holder, (held.get(holder) ?? 0) + 1)
        }
        let surplus = 0
        for (const [name, count] of held) {
          const share = [...plan.targets.values()].filter((target) => target === name).length
          surplus += Math.max(0, count - share)
        }
        expect(plan.moves).toBe(surplus)
      }),
    )
  })

  test('a plan that is carried out is final: planning again moves nothing', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const plan = planLeases(given.hosts, given.leases)
        const again = planLeases(given.hosts, settled(given.leases, plan.targets))
        expect(again.moves).toBe(0)
        expect(new Map(again.targets)).toEqual(new Map(plan.targets))
      }),
    )
  })

  test('the order of the input makes no difference', () => {
    fc.assert(
      fc.property(situation, (given) => {
        const plan = planLeases(given.hosts, given.leases)
        const turned = planLeases([...given.hosts].reverse(), [...given.leases].reverse())
        expect(new Map(turned.targets)).toEqual(new Map(plan.targets))
        expect(turned.unassigned).toEqual(plan.unassigned)
      }),
    )
  })
})
