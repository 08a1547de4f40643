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
  // No session is to end by itself, however busy the machine is.
  const expirationMs = 60_000
  let hosts: readonly HostProcess[] = await Promise.all(
    HOSTS.map((name) => stage.start(name, { expirationMs })),
  )
  await untilShared(hosts, RANGES)
  const writer = new PacedWriter(stage.store, 200)

  const old = hosts
  for (const host of old) {
    await host.terminate()
    const replacement = await stage.start(host.name, { label: `${host.name}-new`, expirationMs })
    hosts = [...hosts.filter((other) => other !== host), replacement]
    await untilShared(hosts, RANGES)
  }
  await until(() => writer.written.length > 500, { what: 'changes enough' })
  const written = await writer.stop()
  await stage.untilDelivered(written)

  const delivered = deliveries(stage.histories())
  expect(missing(written, delivered)).toEqual([])
  expect(repeated(delivered)).toEqual([])
})

test('PH-4 a host that is killed loses nothing, and at most two batches a range, which were not stored, come again', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES })
  const hosts = await Promise.all(HOSTS.map((name) => stage.start(name, { observerMs: 5 })))
  await untilShared(hosts, RANGES)
  const writer = new PacedWriter(stage.store, 200)
  await until(() => hosts.every((host) => host.entries('dispatch').length > 10), {
    what: 'all hosts process',
  })

  const [victim, ...others] = hosts
  if (victim === undefined) throw new Error('no host')
  const orphans = openLeases(victim)
  await victim.kill()
  const killedAt = machineMs()
  const again = await untilProcessed(others, { leases: orphans, sinceMs: killedAt })
  const goalMs = FAULT_TIMES.expirationMs + 500
  // Said only: fleet.test.ts holds it to the goal, in time of its own; the balance command measures it.
  console.log(
    `${orphans.size} ranges processed again ${again} ms after SIGKILL (goal ${goalMs} ms)`,
  )
  expect(orphans.size).toBeGreaterThan(0)
  const next = await stage.start(`${victim.name}-next`, { observerMs: 5 })
  await untilShared([...others, next], RANGES)
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
