import { expect, test } from 'vitest'
import { deliveries, missing, repeated, repeatedBeyondTwoBatches } from './check-history.ts'
import { FaultStage, openLeases, untilShared } from './fault-stage.ts'
import { machineMs } from './history.ts'
import { FAULT_TIMES, type HostProcess } from './host-process.ts'
import { PacedWriter } from './paced-writer.ts'
import { until } from './until.ts'

const RANGES = 24
const HOSTS = ['w1', 'w2', 'w3'] as const

test('LE-12 PH-11 a rolling restart of all host processes delivers every change exactly once', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES })
  let hosts: readonly HostProcess[] = await Promise.all(HOSTS.map((name) => stage.start(name)))
  await untilShared(hosts, RANGES)
  const writer = new PacedWriter(stage.store, 400)

  const old = hosts
  for (const host of old) {
    expect(await host.terminate()).toBe(0)
    const replacement = await stage.start(host.name, { label: `${host.name}-new` })
    hosts = [...hosts.filter((other) => other !== host), replacement]
    await untilShared(hosts, RANGES)
  }
  const written = await writer.stop()
  await stage.untilDelivered(written)

  const delivered = deliveries(stage.histories())
  expect(written.length).toBeGreaterThan(500)
  expect(missing(written, delivered)).toEqual([])
  expect(repeated(delivered)).toEqual([])
})

test('PH-4 hosts that are killed lose nothing, and at most two batches a range, which were not stored, come again', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES })
  let hosts: readonly HostProcess[] = await Promise.all(
    HOSTS.map((name) => stage.start(name, { observerMs: 5 })),
  )
  await untilShared(hosts, RANGES)
  const writer = new PacedWriter(stage.store, 400)
  await until(() => hosts.every((host) => host.entries('dispatch').length > 10), {
    what: 'all hosts process',
  })

  for (const victim of hosts.slice(0, 2)) {
    const orphans = openLeases(victim)
    await victim.kill()
    const killedAt = machineMs()
    hosts = hosts.filter((host) => host !== victim)
    const again = await untilProcessed(hosts, { leases: orphans, sinceMs: killedAt })
    const goalMs = FAULT_TIMES.expirationMs + 500
    // Said only: fleet.test.ts holds it to the goal, in time of its own; the balance command measures it.
    console.log(
      `${orphans.size} ranges processed again ${again} ms after SIGKILL (goal ${goalMs} ms)`,
    )
    expect(orphans.size).toBeGreaterThan(0)
    hosts = [...hosts, await stage.start(`${victim.name}-next`, { observerMs: 5 })]
    await untilShared(hosts, RANGES)
  }
  const written = await writer.stop()
  await stage.untilDelivered(written)

  expect(missing(written, deliveries(stage.histories()))).toEqual([])
  expect(repeatedBeyondTwoBatches(stage.histories())).toEqual([])
})

/** Milliseconds until each of the leases had a batch at one of the hosts. */
async function untilProcessed(
  hosts: readonly HostProcess[],
  { leases, sinceMs }: { leases: ReadonlyMap<string, number>; sinceMs: number },
): Promise<number> {
  const firsts = (): readonly number[] => {
    const batches = hosts.flatMap((host) => host.entries('dispatch'))
    return [...leases].map(
      ([lease, epoch]) =>
        batches.find((batch) => batch.lease === lease && batch.epoch > epoch)?.atMs ?? Number.NaN,
    )
  }
  await until(() => firsts().every((at) => !Number.isNaN(at)), {
    what: `${leases.size} ranges of a killed host processed again`,
  })
  return Math.round(Math.max(...firsts()) - sinceMs)
}
