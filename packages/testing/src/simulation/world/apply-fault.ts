import { parseFeedRangeId, type Lsn } from '@tidemark/contracts'
import type { Fault, FaultAction } from '../schedule/fault.ts'
import type { Disturbance } from './network-link.ts'
import type { Member } from './member.ts'
import type { World } from './world.ts'

/** Does what a fault says; false when there is nothing that it could hit. Those that last end by themselves, or when everything is healed. */
export function applyFault(world: World, fault: Fault): boolean {
  world.note(`fault:${fault.kind}`, 'world')
  switch (fault.kind) {
    case 'link':
      return disturbLink(world, fault)
    case 'storePause':
      world.server.pause()
      world.time.after(fault.forMs, () => world.server.resume())
      return true
    case 'storeClock':
      world.server.stepClock(fault.byMs)
      return true
    case 'cutAndStep': {
      const { host, forMs, afterMs, byMs } = fault
      world.time.after(afterMs, () => world.server.stepClock(byMs))
      return disturbLink(world, { kind: 'link', host, way: 'both', lost: 1, forMs })
    }
    case 'storeRollback':
      return world.server.rollBack(fault.lostMs)
    case 'storeCrash':
      return crashStore(world, fault)
    case 'storeWipe':
      world.server.wipe()
      return true
    case 'leaseDamage':
      return world.server.damage(fault)
    case 'kill':
    case 'stop':
    case 'suspend':
    case 'restart':
    case 'twin':
    case 'wallJump':
    case 'leave':
      return strikeProcess(world, fault)
    case 'join':
      world.start(`h${world.members.length}`)
      return true
    case 'stranger':
      return world.startStranger()
    case 'split':
      return world.feed.split(placed(world.feed.ranges, fault.range))
    case 'merge':
      return world.feed.merge(placed(world.feed.ranges, fault.range))
    case 'source':
      world.source.trouble(fault, fault.forMs)
      return true
    case 'throw':
    case 'poison':
    case 'slow':
    case 'hang':
      return troubleObserver(world, fault)
    case 'seek':
    case 'release':
    case 'pause':
      return operate(world, fault)
  }
}

function disturbLink(world: World, fault: FaultAction & { kind: 'link' }): boolean {
  const member = hostAt(world, fault.host)
  if (member === undefined) return false
  const { way, forMs } = fault
  const { lost = 0, refused = 0, doubled = 0, delayMs = 0 } = fault
  const disturbance: Disturbance = { lost, refused, doubled, delayMs }
  // Nobody sends a request to what is outside twice but the observer itself.
  const once = { ...disturbance, doubled: 0 }
  for (const [link, trouble] of [
    [member.link, disturbance],
    [member.outside.link, once],
  ] as const) {
    if (way === 'request' || way === 'both') link.request.disturb(trouble, forMs)
    if (way === 'reply' || way === 'both') link.reply.disturb(trouble, forMs)
  }
  if (way === 'hints') member.link.hints.disturb(disturbance, forMs)
  return true
}

/** The machine of the lease store dies, perhaps with all hosts, and is back after a while. */
function crashStore(world: World, fault: FaultAction & { kind: 'storeCrash' }): boolean {
  const { server, time, alive } = world
  const { lostPart, withHosts, forMs } = fault
  if (!server.crash(lostPart)) return false
  server.pause()
  time.after(forMs, () => server.resume())
  if (!withHosts) return true
  const names = new Set(alive.map(({ name }) => name))
  for (const member of alive) world.kill(member)
  for (const name of names) time.after(forMs, () => void world.start(name))
  return true
}

function strikeProcess(
  world: World,
  fault: Fault & { kind: 'kill' | 'stop' | 'suspend' | 'restart' | 'twin' | 'wallJump' | 'leave' },
): boolean {
  const member = hostAt(world, fault.host)
  if (member === undefined) return false
  const { process, name } = member
  switch (fault.kind) {
    case 'kill':
      world.kill(member)
      if (fault.restartMs !== undefined) {
        world.time.after(fault.restartMs, () => void world.start(name))
      }
      return true
    case 'stop':
    case 'suspend':
      world.note(fault.kind, process.name)
      if (fault.kind === 'stop') process.stop()
      else process.suspend()
      world.time.after(fault.forMs, () => {
        world.note('resume', process.name)
        process.resume()
      })
      return true
    case 'restart':
      world.end(member, () => void world.start(name))
      return true
    case 'twin':
      world.start(name)
      return true
    case 'wallJump':
      process.jumpWall(fault.byMs)
      return true
    case 'leave':
      world.end(member)
      return true
  }
}

function troubleObserver(
  world: World,
  fault: Fault & { kind: 'throw' | 'poison' | 'slow' | 'hang' },
): boolean {
  const { behaviour, feed } = world
  if (fault.kind === 'throw') {
    behaviour.throwNext(fault.count)
    return true
  }
  if (fault.kind === 'poison') {
    const change = feed.changes[fault.change % Math.max(1, feed.changes.length)]
    if (change === undefined) return false
    behaviour.poison(change)
    return true
  }
  const member = hostAt(world, fault.host)
  if (member === undefined) return false
  if (fault.kind === 'slow') behaviour.slowDown(member, fault)
  else behaviour.hangNext(member, fault)
  return true
}

/** An operator reaches the store whatever is the matter with the hosts' links. */
function operate(world: World, fault: Fault & { kind: 'seek' | 'release' | 'pause' }): boolean {
  const { server, time } = world
  if (fault.kind === 'pause') {
    world.operate((group) => group.setPaused(true))
    time.after(fault.forMs, () => world.operate((group) => group.setPaused(false)))
    return true
  }
  const leases = [...server.state.leases.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  const lease = leases[fault.range % Math.max(1, leases.length)]
  const range = lease && parseFeedRangeId(lease.id)
  if (lease === undefined || range === undefined) return false
  const byLsn = fault.kind === 'seek' ? fault.byLsn : 0
  const lsn = Math.max(0, lease.checkpoint.lsn - byLsn) as Lsn
  const continuation = byLsn === 0 ? lease.checkpoint.continuation : undefined
  const checkpoint = {
    continuation: continuation ?? world.feed.continuationAt(range, lsn),
    lsn,
  }
  const old = [{ leaseId: lease.id, epoch: lease.epoch }]
  world.operate((group) => group.override({ old, next: [{ range, checkpoint }] }))
  return true
}

function hostAt({ alive }: World, place: number): Member | undefined {
  return alive.length === 0 ? undefined : alive[place % alive.length]
}

function placed<Item>(items: readonly Item[], place: number): Item {
  return items[place % items.length]!
}
