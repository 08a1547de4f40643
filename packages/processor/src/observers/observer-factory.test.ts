import { describe, expect, onTestFinished, test } from 'vitest'
import type { Change, IChangeFeedObserver } from '@tidemark/contracts'
import { FakeFeed, SimulatedClock, type FakeDocument } from '@tidemark/testing'
import { ChangeFeedProcessorHost } from '../host/change-feed-processor-host.ts'
import { MemoryLeaseStore } from '../lease-stores/memory-lease-store.ts'
import type { RegisteredObserver } from './observer-factory.ts'

interface Stage {
  readonly clock: SimulatedClock
  readonly host: ChangeFeedProcessorHost<FakeDocument>
  readonly errors: unknown[]
}

function stage(): Stage {
  const clock = new SimulatedClock()
  const feed = new FakeFeed({ clock, ranges: 2 })
  for (let n = 0; n < 8; n += 1) feed.append(`key${n}`)
  const host = new ChangeFeedProcessorHost<FakeDocument>({
    group: 'g',
    feed,
    leases: new MemoryLeaseStore({ clock }),
    feedOptions: { startFromBeginning: true },
    clock,
  })
  const errors: unknown[] = []
  host.on('observerError', ({ error }) => errors.push(error))
  onTestFinished(async () => {
    await Promise.all([host.unregisterObservers(), clock.advance(60_000)])
  })
  return { clock, host, errors }
}

async function processed(
  observer: (seen: number[]) => RegisteredObserver<FakeDocument>,
): Promise<number> {
  const { clock, host } = stage()
  const seen: number[] = []
  await Promise.all([host.registerObserver(observer(seen)), clock.advance(1_000)])
  return seen.reduce((sum, count) => sum + count, 0)
}

const note =
  (seen: number[]) =>
  (changes: readonly Change<FakeDocument>[]): void =>
    void seen.push(changes.length)

describe('an observer', () => {
  test('PH-1 may be a plain function', async () => {
    expect(await processed((seen) => (_context, changes) => note(seen)(changes))).toBe(8)
    expect(
      await processed(
        (seen) =>
          async function observe(_context, changes) {
            note(seen)(changes)
          },
      ),
    ).toBe(8)
  })

  test('PH-1 may be a class, also one whose method is a field, or an instance', async () => {
    const classOf = (seen: number[]): new () => IChangeFeedObserver<FakeDocument> =>
      class {
        readonly processChanges: IChangeFeedObserver<FakeDocument>['processChanges'] = (
          _context,
          changes,
        ) => note(seen)(changes)
      }
    expect(await processed(classOf)).toBe(8)
    expect(await processed((seen) => new (classOf(seen))())).toBe(8)
  })

  test.each<[string, unknown]>([
    ['an object without processChanges', { processBatch() {} }],
    ['nothing', undefined],
    ['a text', './observer.ts'],
    ['a promise', Promise.resolve({ processChanges() {} })],
    ['a processChanges that is no function', { processChanges: true }],
  ])(
    'PH-1 is refused at once if it is %s, and the host can still be used',
    async (_what, observer) => {
      const { clock, host } = stage()
      await expect(host.registerObserver(observer as never)).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTION',
        message: expect.stringContaining('processChanges'),
      })
      await Promise.all([host.registerObserver(() => {}), clock.advance(1_000)])
      expect(host.health().status).toBe('running')
    },
  )

  test('PH-1 of a factory that is none, or makes none, is refused', async () => {
    const { host } = stage()
    await expect(host.registerObserverFactory({} as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
    })
    const other = stage()
    const made = other.host.registerObserverFactory((() => Promise.resolve({})) as never)
    await Promise.all([made, other.clock.advance(1_000)])
    expect(other.errors[0]).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining('is an await missing?'),
    })
  })

  test('PH-1 a factory given as an observer processes nothing, and says so', async () => {
    const { clock, host, errors } = stage()
    const factory = (): unknown => ({ processChanges() {} })
    await Promise.all([host.registerObserver(factory as never), clock.advance(1_000)])
    expect(errors[0]).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining('registerObserverFactory'),
    })
    expect(host.health().leases.every(({ changes }) => changes === 0)).toBe(true)
  })
})
