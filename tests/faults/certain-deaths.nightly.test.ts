import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deliveries, missing, staleDispatches } from './check-history.ts'
import { FaultStage, openLeases, untilShared } from './fault-stage.ts'
import { machineMs } from './history.ts'
import { PacedWriter } from './paced-writer.ts'
import { until } from './until.ts'

const RANGES = 6
const onLinux = test.runIf(process.platform === 'linux')
/** Longer than any of these tests: no session ends, and no beat is due. */
const NEVER = { renewMs: 300_000, expirationMs: 900_000 } as const

onLinux(
  'LE-16 PH-4 the leases of a killed host are taken at once, those of a stopped one only when it is killed, too',
  async () => {
    await using stage = await FaultStage.open({ ranges: RANGES, leases: 'folder' })
    const survivor = await stage.start('a', { ...NEVER, observerMs: 20 })
    const stopped = await stage.start('b', { ...NEVER, observerMs: 20 })
    const killed = await stage.start('c', { ...NEVER, observerMs: 20 })
    await untilShared(stage.hosts, RANGES)
    const writer = new PacedWriter(stage.store, 300)
    await until(() => stage.hosts.every((host) => host.entries('dispatch').length > 5), {
      what: 'all process',
    })

    stopped.pause()
    const heldByStopped = openLeases(stopped)
    const heldByKilled = openLeases(killed)
    await killed.kill()
    // Half of all are its own now; the other half is that of the stopped one, which has not come to take its part.
    await until(() => openLeases(survivor).size === RANGES / 2, { what: 'a took what c had' })
    for (const [lease, epoch] of openLeases(survivor)) {
      if (heldByKilled.has(lease))
        expect(epoch).toBeGreaterThan(heldByKilled.get(lease) ?? Infinity)
    }

    const killedAtMs = machineMs()
    await stopped.kill()
    await untilShared([survivor], RANGES)
    const written = await writer.stop()
    await stage.untilDelivered(written)
    expect(heldByStopped.size).toBe(RANGES / 3)
    const opened = survivor
      .entries('open')
      .filter(({ lease, epoch }) => epoch > (heldByStopped.get(lease) ?? Infinity))
    // As long as it was only stopped, nobody had taken what it held.
    expect(opened.filter(({ atMs }) => atMs < killedAtMs)).toEqual([])
    expect(new Set(opened.map(({ lease }) => lease)).size).toBe(RANGES / 3)
    expect(staleDispatches(stage.histories())).toEqual([])
    expect(missing(written, deliveries(stage.histories()))).toEqual([])
  },
)

onLinux(
  'LE-16 a host that stopped orderly, and one that is back under its name, are not taken for dead',
  async () => {
    await using stage = await FaultStage.open({ ranges: RANGES, leases: 'folder' })
    const [first, other] = [await stage.start('a', NEVER), await stage.start('b', NEVER)]
    await untilShared([first, other], RANGES)
    await first.kill()
    const second = await stage.start('a', { ...NEVER, label: 'a-2' })
    await untilShared([second, other], RANGES)
    await second.terminate()
    await untilShared([other], RANGES)
    // That of the living one, and of the killed one for a minute.
    const sockets = await readdir(join(stage.folder, 'store', 'presence'))
    expect(sockets.length).toBeLessThanOrEqual(2)
    for (const host of [second, other]) expect(host.eventsNamed('fenced')).toEqual([])
  },
)
