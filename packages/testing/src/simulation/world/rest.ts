import { parseFeedRangeId } from '@tidemark/contracts'
import type { LeaseHealth } from '@tidemark/processor'
import type { LeaseGroupState } from '@tidemark/processor/lease-model'
import { balancesByLoad } from '../schedule/schedule.ts'
import type { World } from './world.ts'

/** All faults end: whatever is stopped goes on, whatever is cut is whole, observers do what they should. */
export function healWorld(world: World): void {
  world.note('heal', 'world')
  world.server.resume()
  world.source.heal()
  world.behaviour.heal()
  for (const member of world.alive) {
    member.link.heal()
    member.outside.link.heal()
    member.process.resume()
  }
  keepAlive(world)
}

/** Somebody has to do the work that is left, and an operator's last word may have been lost. */
export function keepAlive(world: World): void {
  if (world.server.state.head.paused) world.operate((group) => group.setPaused(false))
  if (!world.alive.some(({ status }) => status === 'running')) world.start('healer')
}

/** What is not as it should be, and which oracle says so. */
export interface Unrest {
  readonly oracle: string
  readonly message: string
}

/**
 * Why the world is not at rest yet; undefined when it is: every key has one lease within a present range, every lease
 * has an owner that lives and works on it, shares are even (I8), and everything was processed and stored.
 */
export function unrest(world: World): Unrest | undefined {
  const message = whyHosts(world)
  if (message !== undefined) return { oracle: 'O8', message }
  return whyLeases(world)
}

function whyHosts({ alive, server, schedule }: World): string | undefined {
  if (server.state.head.paused) return 'the group is paused'
  const counts: number[] = []
  for (const { status, host, process } of alive) {
    if (status === 'leaving') return `${process.name} is leaving`
    const { leases, status: health } = host.health()
    if (health !== 'running') return `${process.name} is ${health}`
    const running = leases.filter(({ state }) => state === 'running')
    if (running.length !== leases.length) return `${process.name} has leases on their way`
    counts.push(running.length)
  }
  if (balancesByLoad(schedule)) return whyPlan(server.state)
  if (Math.max(...counts) - Math.min(...counts) > 1) return `shares are ${counts.join(', ')}`
  return undefined
}

/** Where load counts, shares are as somebody has planned for the present hosts. */
function whyPlan({ head, leases, targets }: LeaseGroupState): string | undefined {
  const { planVersion, membershipVersion } = head
  if (planVersion < membershipVersion)
    return `the plan is for ${planVersion} of ${membershipVersion}`
  const [away] = [...leases.values()].filter(({ id, owner }) => targets.get(id) !== owner?.host)
  if (away === undefined) return undefined
  return `${away.id} is with ${away.owner?.host}, and planned for ${targets.get(away.id)}`
}

function whyLeases({ alive, server, feed }: World): Unrest | undefined {
  const holders = new Map<string, LeaseHealth>()
  for (const { name, host } of alive) {
    for (const held of host.health().leases) {
      holders.set(`${name} ${held.leaseId} ${held.epoch}`, held)
    }
  }
  let covered = ''
  const leases = [...server.state.leases.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const { id, owner, checkpoint, epoch } of leases) {
    const range = parseFeedRangeId(id)
    if (range?.minInclusive !== covered) break
    covered = range.maxExclusive
    if (owner === undefined) return { oracle: 'O8', message: `${id} has no owner` }
    const held = holders.get(`${owner.host} ${id} ${epoch}`)
    // I7: no zombies.
    if (held === undefined) {
      return { oracle: 'O7', message: `${id} is owned by ${owner.host}, which does not hold it` }
    }
    // I2: what the store lost is stored again.
    if (checkpoint.lsn < held.checkpointLsn) {
      return {
        oracle: 'O2',
        message: `${id} is stored at ${checkpoint.lsn}, and its owner was told ${held.checkpointLsn}`,
      }
    }
    const newestLsn = feed.newestLsn(range)
    if (newestLsn === undefined) return { oracle: 'O8', message: `${id} lies in several ranges` }
    // What is done is not always stored at once.
    const doneLsn = Math.max(checkpoint.lsn, held.doneLsn ?? 0)
    if (doneLsn < newestLsn) {
      return { oracle: 'O8', message: `${id} is at ${doneLsn} of ${newestLsn}` }
    }
  }
  if (covered === 'FF') return undefined
  return { oracle: 'O8', message: `no lease begins at ${covered}` }
}
