import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { HostProfile } from '@tidemark/contracts'
import type { PlannedHost, PlannedLease } from './holders.ts'
import { planLeases } from './plan-leases.ts'

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

  test.each([
    { promised: 'a', worked: 'b' },
    { promised: 'b', worked: 'a' },
  ])(
    'LE-5 a host gives up what it was promised before what it works on: $promised before $worked',
    ({ promised, worked }) => {
      const { targets, moves } = planLeases(hosts(2), [
        { id: promised, owner: 'gone', target: 'h000' },
        { id: worked, owner: 'h000', target: 'h000' },
      ])
      expect(new Map(targets)).toEqual(
        new Map([
          [promised, 'h001'],
          [worked, 'h000'],
        ]),
      )
      expect(moves).toBe(1)
    },
  )

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

describe('LE-9 hosts on standby', () => {
  const spare = (name: string, profile: Partial<HostProfile> = {}): PlannedHost =>
    host(name, { standby: true, ...profile })

  test('get nothing while others may take all, and keep nothing when they come', () => {
    const alone = planLeases([spare('s')], leases(6))
    expect(counts(alone.targets, ['s'])).toEqual([6])
    const joined = planLeases([spare('s'), host('a')], settled(leases(6), alone.targets))
    expect(counts(joined.targets, ['s', 'a'])).toEqual([0, 6])
    expect(joined.moves).toBe(6)
    const back = planLeases([spare('s'), host('a'), host('b')], settled(leases(6), joined.targets))
    expect(counts(back.targets, ['s', 'a', 'b'])).toEqual([0, 3, 3])
  })

  test('take what the others may not, and share it out evenly', () => {
    const plan = planLeases([spare('s'), spare('t'), host('a', { maxLeases: 3 })], leases(8))
    expect(counts(plan.targets, ['a', 's', 't'])).toEqual([3, 3, 2])
    expect(plan.unassigned).toEqual([])
  })

  test('come in when the last of the others leaves, and their bounds hold', () => {
    const before = planLeases([spare('s', { maxLeases: 4 }), host('a')], leases(6))
    const after = planLeases(
      [spare('s', { maxLeases: 4 }), host('a', { leaving: true })],
      settled(leases(6), before.targets),
    )
    expect(counts(after.targets, ['s', 'a'])).toEqual([4, 0])
    expect(after.unassigned).toHaveLength(2)
  })

  test('a min of theirs does not come before the others', () => {
    const plan = planLeases([spare('s', { minLeases: 4 }), host('a')], leases(6))
    expect(counts(plan.targets, ['s', 'a'])).toEqual([0, 6])
  })
})

describe('PH-9 refusals', () => {
  test('a lease goes to a host that does not refuse it, and shares stay even', () => {
    const before = planLeases(hosts(2), leases(4))
    const held = [...before.targets].filter(([, name]) => name === 'h000').map(([id]) => id)
    const after = planLeases(
      [host('h000', { refuses: [held[0]!] }), host('h001')],
      settled(leases(4), before.targets),
    )
    expect(after.targets.get(held[0]!)).toBe('h001')
    expect(after.targets.get(held[1]!)).toBe('h000')
    expect(counts(after.targets, ['h000', 'h001'])).toEqual([2, 2])
  })

  test('a lease that all refuse has nobody, until one of them does not any more', () => {
    const refusing = hosts(2).map((one) => host(one.host, { refuses: ['l00001'] }))
    const plan = planLeases(refusing, leases(3))
    expect(plan.unassigned).toEqual(['l00001'])
    expect(plan.targets.size).toBe(2)
    expect(planLeases([refusing[0]!, host('h001')], leases(3)).targets.get('l00001')).toBe('h001')
  })

  test('refusing what is not there, or everything, harms nobody else', () => {
    const plan = planLeases(
      [host('a', { refuses: ['nothing', ...leases(5).map(({ id }) => id)] }), host('b')],
      leases(5),
    )
    expect(plan.targets.size).toBeLessThanOrEqual(5)
    expect(new Set(plan.targets.values())).toEqual(new Set(['b']))
    expect(plan.unassigned).toEqual([])
  })

  test('a host on standby takes what all others refuse', () => {
    const plan = planLeases(
      [host('a', { refuses: ['l00000'] }), host('s', { standby: true })],
      leases(2),
    )
    expect(plan.unassigned).toEqual([])
    expect(plan.targets.get('l00000')).toBe('s')
    expect(plan.targets.get('l00001')).toBe('a')
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

  /** The same with hosts on standby and refusals. */
  const hard = fc
    .tuple(
      situation,
      fc.array(fc.constantFrom(false, false, true), { minLength: 6, maxLength: 6 }),
      fc.array(fc.uniqueArray(fc.nat(29), { maxLength: 12 }), { minLength: 6, maxLength: 6 }),
    )
    .map(([given, standby, refused]) => ({
      ...given,
      hosts: given.hosts.map((one, index): PlannedHost => {
        const refuses = refused[index]!.map((n) => `l${String(n).padStart(3, '0')}`)
        return { ...one, profile: { ...one.profile, standby: standby[index], refuses } }
      }),
    }))

  function taking(given: { readonly hosts: readonly PlannedHost[] }): readonly PlannedHost[] {
    return given.hosts.filter((one) => !one.profile.leaving)
  }

  test('PH-9 LE-7 nobody gets what it refuses or more than its max, and nothing is left over that somebody could take', () => {
    fc.assert(
      fc.property(hard, (given) => {
        const plan = planLeases(given.hosts, given.leases)
        expect(plan.targets.size + plan.unassigned.length).toBe(given.leases.length)
        for (const { host: name, profile: one } of taking(given)) {
          const own = [...plan.targets].filter(([, target]) => target === name)
          expect(own.length).toBeLessThanOrEqual(one.maxLeases)
          for (const [id] of own) expect(one.refuses).not.toContain(id)
          if (own.length === one.maxLeases) continue
          for (const id of plan.unassigned) expect(one.refuses).toContain(id)
        }
        const names = new Set(taking(given).map((one) => one.host))
        for (const name of plan.targets.values()) expect(names.has(name)).toBe(true)
      }),
    )
  })

  test('LE-9 a host on standby gets a lease only if every other is at its max, or refuses leases', () => {
    fc.assert(
      fc.property(hard, (given) => {
        const plan = planLeases(given.hosts, given.leases)
        const standby = new Set(
          taking(given)
            .filter((one) => one.profile.standby)
            .map((one) => one.host),
        )
        const theirs = [...plan.targets].filter(([, name]) => standby.has(name))
        if (theirs.length === 0) return
        for (const { host: name, profile: one } of taking(given)) {
          if (one.standby === true || (one.refuses?.length ?? 0) > 0) continue
          const own = [...plan.targets.values()].filter((target) => target === name)
          expect(own.length).toBe(one.maxLeases)
        }
      }),
    )
  })

  test('with standby and refusals too, plans that are carried out come to rest, and the order of the input makes no difference', () => {
    fc.assert(
      fc.property(hard, (given) => {
        const plan = planLeases(given.hosts, given.leases)
        let last = plan
        let next = planLeases(given.hosts, settled(given.leases, last.targets))
        for (let round = 0; round < 2 && next.moves > 0; round += 1) {
          last = next
          next = planLeases(given.hosts, settled(given.leases, last.targets))
        }
        expect(next.moves).toBe(0)
        expect(new Map(next.targets)).toEqual(new Map(last.targets))
        const turned = planLeases([...given.hosts].reverse(), [...given.leases].reverse())
        expect(new Map(turned.targets)).toEqual(new Map(plan.targets))
      }),
    )
  })
})
