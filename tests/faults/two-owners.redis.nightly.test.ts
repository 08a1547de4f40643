import { lsn } from '@tidemark/contracts'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { startTcpProxy, type ProxyDirection } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { dispatchesPast, staleDispatches } from './check-history.ts'
import { FaultStage, openLeases, untilShared } from './fault-stage.ts'
import { machineMs } from './history.ts'
import { FAULT_TIMES, type HostProcess } from './host-process.ts'
import { PacedWriter } from './paced-writer.ts'
import { until } from './until.ts'

const RANGES = 8
const TTL_MS = FAULT_TIMES.expirationMs
/** The observer works long enough for a fault to hit it in the middle of a batch. */
const SLOW_OBSERVER = { observerMs: 60, checkpointInObserver: true } as const

/** Waits until `taker` has opened each of the leases at a higher epoch. */
async function untilTaken(
  taker: HostProcess,
  leases: ReadonlyMap<string, number>,
): Promise<number> {
  const takings = (): readonly number[] => {
    const opens = taker.entries('open')
    return [...leases].map(
      ([lease, epoch]) =>
        opens.find((open) => open.lease === lease && open.epoch > epoch)?.atMs ?? Number.NaN,
    )
  }
  await until(() => takings().every((at) => !Number.isNaN(at)), {
    what: `${leases.size} leases taken by ${taker.name}`,
  })
  return Math.max(...takings())
}

test('LE-11 PH-4 a host stopped for longer than its session is replaced; awake again it dispatches nothing and its checkpoint is refused', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES })
  const stopped = await stage.start('a', SLOW_OBSERVER)
  const other = await stage.start('b')
  await untilShared([stopped, other], RANGES)
  const writer = new PacedWriter(stage.store, 300)
  await until(() => stopped.entries('dispatch').length > 20, {
    what: 'a processes',
  })

  stopped.pause()
  const pausedAt = machineMs()
  const held = openLeases(stopped)
  const takenAt = await untilTaken(other, held)
  console.log(
    `taken over ${Math.round(takenAt - pausedAt)} ms after the stop, session ${TTL_MS} ms`,
  )
  // The fault happened: for longer than the session, and others took what it held.
  expect(held.size).toBe(RANGES / 2)
  expect(takenAt).toBeGreaterThan(pausedAt)
  await until(() => machineMs() > pausedAt + TTL_MS + 500, {
    what: 'a long stop',
  })
  const resumedAt = machineMs()
  stopped.resume()

  await until(() => stopped.entries('joined').length > 1, { what: 'a is back' })
  await untilShared([stopped, other], RANGES)
  const written = await writer.stop()
  await stage.untilDelivered(written)

  expect(
    dispatchesPast(stopped.history, {
      openedBeforeMs: pausedAt,
      deadlineMs: pausedAt + TTL_MS,
    }),
  ).toEqual([])
  expect(staleDispatches(stage.histories())).toEqual([])
  const late = stopped
    .entries('checkpoint')
    .filter(({ atMs, lease, epoch }) => atMs >= resumedAt && held.get(lease) === epoch)
  expect(late.length).toBeGreaterThan(0)
  for (const { code, askedAtMs } of late) {
    // Redis may have stored one before the stop of which only the answer came late.
    if (code === undefined) expect(askedAtMs).toBeLessThan(pausedAt)
    else expect(code).toBe('ERR_LEASE_LOST')
  }
  await expectStaleCheckpointRefused(stage, { host: stopped, held })
})

/** Further on than any owner of a lease comes. */
const BEYOND = 1_000_000

/** Asks Redis itself, as the stopped host would have, had it not known better. */
async function expectStaleCheckpointRefused(
  stage: FaultStage,
  { host, held }: { host: HostProcess; held: ReadonlyMap<string, number> },
): Promise<void> {
  const group = await new RedisLeaseStore(stage.redis.admin, { allowVolatile: true }).openGroup(
    'faults',
  )
  const before = await group.read()
  const incarnation = host.entries('joined')[0]?.incarnation ?? ''
  const outcomes = await group.checkpoint({
    host: host.name,
    incarnation,
    checkpoints: [...held].map(([leaseId, epoch]) => {
      const stored = before.leases.find(({ id }) => id === leaseId)!.checkpoint
      return { leaseId, epoch, checkpoint: { ...stored, lsn: lsn(stored.lsn + BEYOND) } }
    }),
  })
  expect(outcomes).toEqual([...held].map(() => 'lost'))
  const after = await group.read()
  // The owners of now may still store how far they came.
  for (const [index, { checkpoint }] of after.leases.entries()) {
    expect(checkpoint.lsn).toBeLessThan(before.leases[index]!.checkpoint.lsn + BEYOND)
  }
  await group.close()
}

const CUTS: readonly { readonly cut: string; readonly directions: readonly ProxyDirection[] }[] = [
  { cut: 'both directions', directions: ['toServer', 'toClient'] },
  { cut: 'what it sends', directions: ['toServer'] },
  { cut: 'what it is answered', directions: ['toClient'] },
]

test('PH-10 LE-4 a host cut off from Redis in either direction or both stops by its own deadline, and nobody works beside it', async () => {
  await using stage = await FaultStage.open({ ranges: RANGES })
  await using proxy = await startTcpProxy(stage.redis)
  const cutOff = await stage.start('a', { redisPort: proxy.port, observerMs: 20 })
  const other = await stage.start('b')
  const writer = new PacedWriter(stage.store, 150)
  for (const { cut, directions } of CUTS) {
    await untilShared([cutOff, other], RANGES)
    const sinceMs = machineMs()
    await until(() => cutOff.entries('dispatch').some(({ atMs }) => atMs > sinceMs), {
      what: 'a processes',
    })

    const held = openLeases(cutOff)
    const fenced = cutOff.eventsNamed('fenced').length
    const joined = cutOff.entries('joined').length
    const dropped = proxy.droppedBytes
    proxy.block(...directions)
    const cutAt = machineMs()
    await until(() => cutOff.eventsNamed('fenced').length > fenced, { what: 'a fences itself' })
    const takenAt = await untilTaken(other, held)
    console.log(`${cut}: taken over ${Math.round(takenAt - cutAt)} ms later, session ${TTL_MS} ms`)
    expect(held.size, cut).toBeGreaterThan(0)
    expect(proxy.droppedBytes, cut).toBeGreaterThan(dropped)
    proxy.unblock()

    await until(() => cutOff.entries('joined').length > joined, { what: 'a is back' })
    expect(
      dispatchesPast(cutOff.history, { openedBeforeMs: cutAt, deadlineMs: cutAt + TTL_MS }),
      cut,
    ).toEqual([])
  }
  await untilShared([cutOff, other], RANGES)
  const written = await writer.stop()
  await stage.untilDelivered(written)
  expect(staleDispatches(stage.histories())).toEqual([])
})
