import { describe, expect, test } from 'vitest'
import {
  HEARTBEAT_MS,
  IDS,
  at,
  held,
  lease,
  running,
  type Driver,
} from './lease-core-driver.fixture.ts'
import type { LeaseEffect } from './lease-protocol.ts'
import { LeaseTable } from './lease-table.ts'
import { WorkedEpochs } from './worked-epochs.ts'

/** A host that had '-40' at epoch 7, has lost it, and asks for it. */
function withoutFirst(): Driver {
  const driver = running()
  driver.tell({ kind: 'progress', held: held('-40'), checkpoint: at(1) })
  driver.answer({ op: 'checkpoint', reply: ['lost'] })
  driver.tell({
    kind: 'pumpClosed',
    held: held('-40'),
    checkpoint: at(1),
    reason: 'leaseLost',
    replacement: undefined,
  })
  driver.effects = driver.effects.filter(({ kind }) => kind === 'wakeAt')
  driver.passTo(HEARTBEAT_MS)
  driver.synced()
  return driver
}

describe('a store that went back to what it was', () => {
  test('LE-11 a lease that this host has given up comes back at its old epoch: it is given back, and got at a new one', () => {
    const driver = withoutFirst()
    driver.acquired(['-40'], 7)
    expect(driver.of('startPump')).toEqual([])
    expect(driver.pending('release')).toMatchObject({ request: { releases: [held('-40')] } })
    driver.answer({ op: 'release', reply: ['released'] })
    expect(driver.pending('acquire')).toMatchObject({ request: { leaseIds: ['-40'] } })
    driver.acquired(['-40'], 8)
    expect(driver.of('startPump').map((effect) => effect.held)).toEqual([held('-40', 8)])
  })

  test('I5 a part of a range whose observer has not returned waits for it: no two in one process have keys in common', () => {
    const effects: LeaseEffect[] = []
    const table = new LeaseTable(effects)
    const begun = (): unknown[] =>
      effects.flatMap((effect) => (effect.kind === 'startPump' ? [effect.held] : []))
    const acquire = (id: string, epoch: number): void =>
      table.add(
        { leaseId: id, epoch, lease: lease(id, { epoch }) },
        { keep: true, generation: 'g', sinceCallId: 1, answerTo: 1 },
      )
    acquire('-40', 7)
    table.lose('-40', 'takenOver')
    // Another host has split the range since.
    acquire('-20', 9)
    acquire('80-FF', 9)
    expect(begun()).toEqual([held('-40'), held('80-FF', 9)])
    const end = { checkpoint: undefined, reason: 'leaseLost', replacement: undefined } as const
    table.pumpClosed(held('-40'), end, 'g')
    expect(begun()).toEqual([held('-40'), held('80-FF', 9), held('-20', 9)])
  })

  test('LE-11 so is a lease whose parts this host has worked on since', () => {
    const worked = new WorkedEpochs()
    worked.begun({ minInclusive: '', maxExclusive: '20' }, 9)
    expect(worked.isPast({ minInclusive: '', maxExclusive: '40' }, 8)).toBe(true)
    expect(worked.isPast({ minInclusive: '', maxExclusive: '40' }, 10)).toBe(false)
  })

  test('LE-11 so is each of the leases in whose place one had come', () => {
    const worked = new WorkedEpochs()
    const [left, right] = [
      { minInclusive: '', maxExclusive: '40' },
      { minInclusive: '40', maxExclusive: 'FF' },
    ]
    worked.begun({ minInclusive: '', maxExclusive: 'FF' }, 9)
    worked.givenBack(left, 7)
    expect(worked.isPast(left, 8)).toBe(false)
    expect(worked.isPast(right, 7)).toBe(true)
  })

  test('LE-11 it is given back once: with a clock that went back too, any higher epoch will do', () => {
    const worked = new WorkedEpochs()
    const range = { minInclusive: '', maxExclusive: '40' }
    worked.begun(range, 7)
    worked.begun(range, 1_000)
    expect(worked.isPast(range, 7)).toBe(true)
    worked.givenBack(range, 7)
    expect(worked.isPast(range, 7)).toBe(true)
    expect(worked.isPast(range, 8)).toBe(false)
  })

  test('a session of an earlier life of this process is nobody else’s: it joins again instead of yielding to itself', () => {
    const driver = running()
    const profile = { weight: 1, minLeases: 0, maxLeases: 100, leaving: false }
    const session = (incarnation: string) => [{ host: 'a', incarnation, profile, deadlineMs: 1 }]
    let life = 0
    for (const present of ['i', 'i', 'i.1', 'i.e2', 'i.e2.1']) {
      driver.passTo(driver.nowMs + HEARTBEAT_MS)
      driver.answer({ op: 'sync', reply: { kind: 'fenced', generation: 'g' } })
      driver.read([], { hosts: session(present) })
      driver.synced()
      driver.read(
        IDS.map((id) => lease(id)),
        { hosts: session(`i.${++life}`) },
      )
    }
    expect(driver.notices('joined')).toMatchObject([
      { notice: { incarnation: 'i.1' } },
      { notice: { incarnation: 'i.2' } },
      { notice: { incarnation: 'i.3' } },
      { notice: { incarnation: 'i.4' } },
      { notice: { incarnation: 'i.5' } },
    ])
    driver.passTo(driver.nowMs + HEARTBEAT_MS)
    driver.answer({ op: 'sync', reply: { kind: 'fenced', generation: 'g' } })
    driver.read([], { hosts: session('i0') })
    expect(driver.pending('sync')).toBeUndefined()
  })

  test('keys that were never worked on have no past', () => {
    const worked = new WorkedEpochs()
    worked.begun({ minInclusive: '', maxExclusive: '40' }, 7)
    expect(worked.isPast({ minInclusive: '40', maxExclusive: 'FF' }, 1)).toBe(false)
    expect(worked.isPast({ minInclusive: '', maxExclusive: 'FF' }, 7)).toBe(true)
    expect(worked.isPast({ minInclusive: '', maxExclusive: 'FF' }, 8)).toBe(false)
  })
})
