import { fillRoom } from './fill-room.ts'
import {
  Refusals,
  groupByHolder,
  holderOf,
  isOnStandby,
  movesOf,
  takersOf,
  type PlannedHost,
  type PlannedLease,
} from './holders.ts'
import { LoadedHost, type WeighedLease } from './loaded-host.ts'
import type { LeasePlan } from './plan-leases.ts'
import { shareOut } from './share-out.ts'

/** A lease that has come to its host within this time is not moved on, and counts for the bound of moves. */
export const SETTLE_MS = 60_000
/** Within `SETTLE_MS` at most so many leases move to even out load, or this part of all, whichever is more. */
const MOVES_AT_LEAST = 4
const MOVES_PART = 1 / 20
/** Loads that differ by less than this part of the mean are left as they are: they are never exact. */
export const TOLERANCE = 0.2
/** Once leases move, they do until loads differ by less than this. */
const GOAL = 0.1
/** Of the mean cost, added to each lease: leases at rest cost something too, and are shared out by their number. */
const COST_AT_REST = 0.05

/**
 * Decides which host is to own which lease, so that hosts of one weight have about the same load. As `planLeases` for the
 * bounds of hosts, standby, refusals and order of the input.
 *
 * Every lease stays where it is, unless its host may not have it any more. What is free goes to the host with the least load, the
 * heaviest first. Then single leases go from hosts with more to hosts with less load, if their loads differ by more than
 * `TOLERANCE` and what can be moved halves the difference: few leases within `SETTLE_MS`, and none twice. A host that
 * has nothing gets its share at once.
 *
 * A lease whose cost is not known counts as the mean. Hosts that have such a lease otherwise neither give nor get any.
 */
export function planByLoad(
  hosts: readonly PlannedHost[],
  leases: readonly PlannedLease[],
  nowMs: number,
): LeasePlan {
  const takers = takersOf(hosts)
  const refusals = new Refusals(takers)
  const weighed = weigh(leases)
  const minimums = minimumsOf(takers, leases.length)
  const seats = (): LoadedHost[] =>
    takers.map((taker) => new LoadedHost(taker, minimums.get(taker.host) ?? 0))
  const { targets, unassigned } = keepAndPlace(seats(), { takers, leases: weighed, refusals })
  const all = seats()
  const byName = new Map(all.map((host) => [host.name, host]))
  for (const lease of weighed) byName.get(targets.get(lease.id) ?? '')?.add(lease)
  const holders = new Map(weighed.map((lease) => [lease.id, holderOf(lease, refusals)]))
  const holding = new Set(holders.values())
  /** Not on its way, and not placed just now. */
  const isInHand = ({ id, owner }: PlannedLease): boolean =>
    owner !== undefined && holders.get(id) === owner && targets.get(id) === owner
  const isSettled = (lease: PlannedLease): boolean =>
    isInHand(lease) && (lease.sinceMs ?? -Infinity) + SETTLE_MS <= nowMs
  const recent = weighed.filter((lease) => holders.get(lease.id) !== undefined && !isSettled(lease))
  let limit = Math.max(MOVES_AT_LEAST, Math.floor(leases.length * MOVES_PART)) - recent.length
  for (const standby of [false, true]) {
    const group = all.filter((host) => host.isOnStandby === standby)
    meetMinimums(group, refusals)
    const newcomers = group.filter(({ name }) => !holding.has(name))
    evenOut({ givers: group, takers: newcomers, movable: isSettled, refusals })
    const idle = newcomers.filter((host) => host.leases.size === 0)
    evenOut({ givers: group, takers: idle, movable: isInHand, refusals })
    const known = group.filter((host) => host.isKnown && !newcomers.includes(host))
    limit -= evenOut({ givers: known, takers: known, movable: isSettled, refusals, limit })
  }
  for (const host of all) for (const { id } of host.leases) targets.set(id, host.name)
  return { targets, unassigned, moves: movesOf(leases, targets, refusals) }
}

/** Costs as they count, by id. */
function weigh(leases: readonly PlannedLease[]): readonly WeighedLease[] {
  const known = leases.flatMap(({ cost }) => (cost === undefined ? [] : [cost]))
  const mean = known.reduce((sum, cost) => sum + cost, 0) / Math.max(1, known.length)
  return leases
    .map((lease) => ({
      ...lease,
      weight: mean === 0 ? 1 : (lease.cost ?? mean) + COST_AT_REST * mean,
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** What each host keeps, and who gets the rest. */
function keepAndPlace(
  seats: readonly LoadedHost[],
  {
    takers,
    leases,
    refusals,
  }: {
    readonly takers: readonly PlannedHost[]
    readonly leases: readonly WeighedLease[]
    readonly refusals: Refusals
  },
): { readonly targets: Map<string, string>; readonly unassigned: readonly string[] } {
  const { held, free } = groupByHolder(leases, refusals)
  for (const seat of seats) {
    const own = held.get(seat.name) ?? []
    // What a host on standby has goes to one of the others, if one may have it.
    const kept = seat.isOnStandby ? 0 : Math.min(own.length, seat.maxLeases)
    for (const lease of own.slice(0, kept)) seat.add(lease)
    free.push(...own.slice(kept))
  }
  free.sort((a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1))
  const rest: PlannedLease[] = []
  for (const lease of free) {
    const holder = holderOf(lease, refusals)
    const lacksMore = (a: LoadedHost, b: LoadedHost): boolean =>
      (Number(a.isOnStandby) - Number(b.isOnStandby) ||
        Number(a.isOnStandby && a.name !== holder) - Number(b.isOnStandby && b.name !== holder) ||
        Number(a.leases.size >= a.minLeases) - Number(b.leases.size >= b.minLeases) ||
        a.levelWith(lease) - b.levelWith(lease)) < 0
    let best: LoadedHost | undefined
    for (const seat of seats) {
      if (seat.leases.size >= seat.maxLeases) continue
      if (best !== undefined && !lacksMore(seat, best)) continue
      if (refusals.mayHave(seat.name, lease.id)) best = seat
    }
    if (best === undefined) rest.push(lease)
    else best.add(lease)
  }
  const targets = new Map(
    seats.flatMap((seat) => [...seat.leases].map(({ id }): [string, string] => [id, seat.name])),
  )
  const room = new Map(seats.map((seat) => [seat.name, seat.maxLeases - seat.leases.size]))
  return { targets, unassigned: fillRoom(rest, { takers, room, refusals, targets }) }
}

/** Leases that each host is to have at least, shared out if there are too few. Those on standby have no such claim. */
function minimumsOf(takers: readonly PlannedHost[], count: number): ReadonlyMap<string, number> {
  const bounds = takers.map((taker) => {
    const { weight, minLeases, maxLeases } = taker.profile
    const min = isOnStandby(taker) ? 0 : Math.min(minLeases, maxLeases)
    return { weight, min, max: min, current: 0 }
  })
  const shares = shareOut(bounds, count)
  return new Map(takers.map(({ host }, index) => [host, shares[index] ?? 0]))
}

/** The minimum comes before the even share (LE-7): by the lightest leases of the host with the most load. */
function meetMinimums(hosts: readonly LoadedHost[], refusals: Refusals): void {
  for (const taker of hosts) {
    while (taker.leases.size < taker.minLeases) {
      const givers = hosts.filter(({ leases, minLeases }) => leases.size > minLeases)
      givers.sort((a, b) => b.level - a.level)
      const given = givers.some((giver) => {
        let lease: WeighedLease | undefined
        for (const one of giver.leases) {
          if (lease !== undefined && one.weight >= lease.weight) continue
          if (refusals.mayHave(taker.name, one.id)) lease = one
        }
        if (lease !== undefined) giver.give(lease, taker)
        return lease !== undefined
      })
      if (!given) break
    }
  }
}

interface Evening {
  readonly givers: readonly LoadedHost[]
  readonly takers: readonly LoadedHost[]
  readonly movable: (lease: WeighedLease) => boolean
  readonly refusals: Refusals
  /** Moves at most. @default no limit */
  readonly limit?: number | undefined
}

/** Moves leases one by one, each once at most. Returns how many. */
function evenOut({ givers, takers, movable, refusals, limit = Infinity }: Evening): number {
  const all = [...new Set([...givers, ...takers])]
  const load = all.reduce((sum, host) => sum + host.load, 0)
  const mean = load / all.reduce((sum, host) => sum + host.weight, 0)
  const stock = new Map(
    givers.map((giver) => {
      const own = [...giver.leases].filter(movable).sort((a, b) => a.weight - b.weight)
      return [giver, own]
    }),
  )
  for (let moves = 0; moves < limit; moves += 1) {
    const leastGap = mean * (moves === 0 ? TOLERANCE : GOAL)
    if (!moveOne({ givers, takers, refusals, stock, leastGap })) return moves
  }
  return Math.max(0, limit)
}

function moveOne({
  givers,
  takers,
  refusals,
  stock,
  leastGap,
}: Pick<Evening, 'givers' | 'takers' | 'refusals'> & {
  readonly stock: ReadonlyMap<LoadedHost, WeighedLease[]>
  readonly leastGap: number
}): boolean {
  const fullest = givers
    .filter((giver) => giver.leases.size > giver.minLeases && stock.get(giver)?.length)
    .sort((a, b) => b.level - a.level)
  const emptiest = takers
    .filter((taker) => taker.leases.size < taker.maxLeases)
    .sort((a, b) => a.level - b.level)
  for (const giver of fullest) {
    const own = stock.get(giver) ?? []
    for (const taker of emptiest) {
      if (giver.level - taker.level <= leastGap) break
      const index = bestMove(own, { giver, taker, refusals })
      const lease = own[index]
      if (lease === undefined) continue
      own.splice(index, 1)
      giver.give(lease, taker)
      return true
    }
  }
  return false
}

/** Index of the lease that evens out the two best; -1 if those that do not overshoot cannot halve the gap together. */
function bestMove(
  sorted: readonly WeighedLease[],
  {
    giver,
    taker,
    refusals,
  }: {
    readonly giver: LoadedHost
    readonly taker: LoadedHost
    readonly refusals: Refusals
  },
): number {
  const gap = giver.level - taker.level
  // A move of this weight leaves them even.
  const ideal = gap / (1 / giver.weight + 1 / taker.weight)
  const limit = Math.min(1.5 * ideal, 0.75 * gap * taker.weight)
  // The heaviest that does not overshoot: it is half of `ideal` or more, or the nearest one below.
  let best = firstAbove(sorted, limit) - 1
  while (best >= 0 && !refusals.mayHave(taker.name, sorted[best]!.id)) best -= 1
  if (best < 0) return -1
  const mayHaveAll = refusals.isOfNone(taker.name)
  // The heavier half of them alone, at least: spares a sum of thousands for each move.
  const middle = best >>> 1
  if (mayHaveAll && 2 * (best - middle) * sorted[middle]!.weight > 1.001 * ideal) return best
  let together = 0
  for (let index = best; index >= 0 && 2 * together < ideal; index -= 1) {
    const { id, weight } = sorted[index]!
    if (mayHaveAll || refusals.mayHave(taker.name, id)) together += weight
  }
  return 2 * together < ideal ? -1 : best
}

/** Index of the first one that weighs more. */
function firstAbove(sorted: readonly WeighedLease[], weight: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle]?.weight ?? Infinity) > weight) high = middle
    else low = middle + 1
  }
  return low
}
