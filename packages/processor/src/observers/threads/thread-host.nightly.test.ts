import { afterEach, describe, expect, test } from 'vitest'
import { fork } from 'node:child_process'
import { once as oneEvent } from 'node:events'
import { fileURLToPath } from 'node:url'
import {
  feedRangeId,
  systemClock,
  type Change,
  type Clock,
  type DeadLetter,
} from '@tidemark/contracts'
import { FakeFeed, SimulatedClock } from '@tidemark/testing'
import { ChangeFeedProcessorHost } from '../../host/change-feed-processor-host.ts'
import type { HostEvents } from '../../host/host-events.ts'
import type { HostOptions } from '../../host/host-options.ts'
import { MemoryLeaseStore, type LeaseOperation } from '../../lease-stores/memory-lease-store.ts'
import type { ObserverModule } from './observer-module.ts'
import type { Deed, ScriptData } from './scripted-observer.fixture.ts'
import { SCRIPTED, Script, until } from './threads-stage.fixture.ts'

type FakeDocument = FakeFeed['changes'][number] extends Change<infer T> ? T : never

const ended: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end()
})

interface Stage {
  readonly feed: FakeFeed
  readonly host: ChangeFeedProcessorHost<FakeDocument>
  readonly script: Script
  readonly letters: DeadLetter<FakeDocument>[]
  /** Calls of the lease store. */
  readonly calls: LeaseOperation[]
  readonly errors: HostEvents['observerError'][]
  readonly ends: HostEvents['observerThreadEnded'][]
  register(module?: Partial<ObserverModule>): Promise<void>
}

function stage(
  deeds: ScriptData['deeds'] = {},
  {
    ranges = 4,
    clock = systemClock,
    ...hostOptions
  }: HostOptions & { ranges?: number; clock?: Clock } = {},
): Stage {
  const feed = new FakeFeed({ clock, ranges })
  const calls: LeaseOperation[] = []
  const leases = new MemoryLeaseStore({
    clock,
    hooks: { before: ({ operation }) => void calls.push(operation) },
  })
  const letters: DeadLetter<FakeDocument>[] = []
  const host = new ChangeFeedProcessorHost<FakeDocument>({
    hostName: 'a',
    group: 'group',
    feed,
    leases,
    clock,
    feedOptions: { startFromBeginning: true, maxItemCount: 5 },
    hostOptions: { retryDelayMs: 1, retryMaxDelayMs: 10, ...hostOptions },
    deadLetters: { put: async (letter) => void letters.push(letter) },
  })
  const script = new Script(deeds)
  const errors: HostEvents['observerError'][] = []
  const ends: HostEvents['observerThreadEnded'][] = []
  host.on('observerError', (event) => errors.push(event))
  host.on('observerThreadEnded', (event) => ends.push(event))
  ended.push(async () => {
    script[Symbol.dispose]()
    await host.unregisterObservers()
  })
  const register = (module: Partial<ObserverModule> = {}): Promise<void> =>
    host.registerObserver({
      observerModule: SCRIPTED,
      threads: 2,
      observerData: script.data,
      ...module,
    })
  return { feed, host, script, letters, calls, errors, ends, register }
}

const times = (deed: Deed, count: number): ScriptData['deeds'][string] => ({ deed, times: count })

/** Ids in the order in which they were first handed over, for each key. */
function perKey(script: Script): Map<string, string[]> {
  const order = new Map<string, string[]>()
  for (const { ids = [] } of script.of('processChanges')) {
    for (const id of ids) {
      const key = id.slice(0, id.lastIndexOf('-'))
      const seen = order.get(key) ?? []
      if (!seen.includes(id)) order.set(key, [...seen, id])
    }
  }
  return order
}

function expectAllInOrder({ feed, script }: Stage): void {
  const order = perKey(script)
  const expected = Map.groupBy(feed.changes, ({ partitionKey }) => String(partitionKey))
  expect(order.size).toBe(expected.size)
  for (const [key, ids] of order) {
    expect(ids).toEqual(ids.map((_, index) => `${key}-${index + 1}`))
    expect(ids).toHaveLength(expected.get(key)?.length ?? 0)
  }
}

function handedOver(script: Script): number {
  return new Set(script.of('processChanges').flatMap(({ ids = [] }) => ids)).size
}

function write(feed: FakeFeed, count: number, keys = 16): void {
  for (let n = 0; n < count; n += 1) feed.append(`key${n % keys}`)
}

describe('PH-13 a host with observers in threads', () => {
  test('hands every change over once and in order, each lease to one observer in one thread, and closes them', async () => {
    const one = stage({}, { ranges: 6 })
    const { feed, host, script, errors } = one
    await one.register()
    write(feed, 300)
    await until(() => handedOver(script) === 300)
    await host.unregisterObservers()
    await until(() => script.of('close').length === 6)
    expectAllInOrder(one)
    expect(script.of('processChanges').flatMap(({ ids = [] }) => ids)).toHaveLength(300)
    expect(script.of('make')).toHaveLength(6)
    const perThread = Map.groupBy(script.of('open'), ({ threadId }) => threadId)
    expect([...perThread.values()].map(({ length }) => length)).toEqual([3, 3])
    for (const open of script.of('open')) {
      const calls = script.reports.filter(
        ({ context }) => context?.leaseId === open.context?.leaseId,
      )
      const homes = calls.map(({ threadId, instance }) => `${threadId}/${instance}`)
      expect(new Set(homes).size).toBe(1)
      expect(calls.at(-1)).toMatchObject({ call: 'close', reason: 'shutdown' })
      expect(calls[0]).toMatchObject({ call: 'open' })
    }
    expect(errors).toEqual([])
  })

  test('PH-5 stores with manual checkpoints what the observer asks for in its thread', async () => {
    const one = stage(
      { key1: times({ kind: 'checkpoint' }, 1e9) },
      { checkpointFrequency: 'manual', ranges: 1 },
    )
    await one.register()
    one.feed.append('key1', 3)
    await until(() => one.script.of('late').length === 3)
    one.feed.append('key2', 3)
    await until(() => handedOver(one.script) === 6)
    const {
      leases: [lease],
    } = one.host.health()
    expect(one.script.of('late').map(({ outcome }) => outcome)).toEqual([
      'stored',
      'stored',
      'stored',
    ])
    expect(lease?.checkpointLsn).toBe(1)
  })

  test('PH-7 tries a batch again that an observer in a thread throws at, with the error that it threw', async () => {
    const one = stage({ 'key3-2': times({ kind: 'throw', what: 'coded' }, 3) })
    await one.register()
    write(one.feed, 64)
    await until(() => handedOver(one.script) === 64)
    expectAllInOrder(one)
    expect(one.errors.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    for (const { error } of one.errors) expect(error).toMatchObject({ code: 'ERR_POISON' })
    // In the same observer.
    expect(one.script.of('make')).toHaveLength(4)
  })

  test.each([{ swallows: false }, { swallows: true }])(
    'PH-4 PH-7 tells of a damaged text as an error of the feed: $swallows',
    async ({ swallows }) => {
      const one = stage(
        { 'key3-2': times({ kind: 'look', swallows }, 1e9) },
        { failurePolicy: { mode: 'deadLetter', maxAttempts: 1 } },
      )
      const damaged: unknown[] = []
      one.host.on('feedError', ({ error }) => damaged.push(error))
      write(one.feed, 64)
      const mend = one.feed.damage('key3-2')
      await one.register()
      await until(() => damaged.length === 3)
      for (const error of damaged) expect(error).toMatchObject({ code: 'ERR_STORE_DAMAGED' })
      if (swallows) {
        await until(() => one.script.of('late').length > 0)
        expect(one.script.of('late').map(({ outcome }) => outcome)).toEqual(['ERR_STORE_DAMAGED'])
      }
      mend()
      await until(() => handedOver(one.script) === 64)
      await one.host.unregisterObservers()
      expectAllInOrder(one)
      expect([one.errors, one.letters]).toEqual([[], []])
    },
  )

  test('goes on when threads die: what was in flight is tried again elsewhere, and nothing is lost', async () => {
    const one = stage({
      'key1-2': times({ kind: 'exit', code: 1 }, 2),
      'key2-3': times({ kind: 'uncaught' }, 2),
      'key5-1': times({ kind: 'unhandled' }, 1),
    })
    await one.register()
    write(one.feed, 160)
    await until(() => handedOver(one.script) === 160)
    await one.host.unregisterObservers()
    expectAllInOrder(one)
    expect(one.ends).toHaveLength(5)
    for (const { error } of one.errors) {
      expect(error).toMatchObject({ code: 'ERR_OBSERVER_THREAD_ENDED' })
    }
    // Only of the call that it died under.
    expect(one.errors).toHaveLength(5)
  })

  test('PH-7 dead-letters a change that no thread survives, and hands over the rest in order', async () => {
    const one = stage(
      { 'key3-2': times({ kind: 'exit', code: 9 }, 1e9) },
      { failurePolicy: { mode: 'deadLetter', maxAttempts: 2 } },
    )
    await one.register()
    write(one.feed, 64)
    await until(() => one.letters.length === 1)
    await until(() => handedOver(one.script) === 64)
    await one.host.unregisterObservers()
    expectAllInOrder(one)
    expect(one.letters).toHaveLength(1)
    expect(one.letters[0]).toMatchObject({
      error: { code: 'ERR_OBSERVER_THREAD_ENDED' },
      change: { id: 'key3-2' },
    })
  })

  test('beats on while a thread is blocked, and only the leases of that thread wait', async () => {
    const one = stage(
      { 'key0-1': times({ kind: 'block' }, 1) },
      { leaseRenewIntervalMs: 20, leaseStoreTimeoutMs: 5_000 },
    )
    const { feed, host, script, calls } = one
    const lost: unknown[] = []
    host.on('leaseLost', (event) => lost.push(event))
    await one.register()
    feed.append('key0')
    await until(() => script.atGate === 1 && script.of('processChanges').length > 0)
    const blocked = script.of('processChanges')[0]!
    const beats = (): number => calls.filter((operation) => operation === 'sync').length
    const before = beats()
    await until(() => beats() >= before + 20)
    write(feed, 64)
    const isElsewhere = ({ threadId }: { threadId: number }): boolean =>
      threadId !== blocked.threadId
    await until(() => script.of('open').filter(isElsewhere).length === 2)
    const elsewhere = new Set(
      script
        .of('open')
        .flatMap(({ threadId, context }) =>
          threadId === blocked.threadId ? [] : [context!.leaseId],
        ),
    )
    expect(elsewhere.size).toBe(2)
    const health = (leaseId: string): number | undefined =>
      host.health().leases.find((lease) => lease.leaseId === leaseId)?.processedLsn
    await until(() => [...elsewhere].every((leaseId) => (health(leaseId) ?? 0) > 0))
    expect(health(blocked.context!.leaseId)).toBeUndefined()
    expect(lost).toEqual([])
    script.openGate()
    await until(() => handedOver(script) === 65)
    expectAllInOrder(one)
    expect(one.errors).toEqual([])
  })

  test('takes the lease from a call that hangs, and ends its thread if it is blocked', async () => {
    // Hours pass for the host when the test says so: a call that takes long for want of a machine is none that hangs.
    const clock = new SimulatedClock()
    const [maxBatchMs, abortGraceMs, laterMs] = [3_600_000, 50, 1_000]
    const one = stage(
      { 'key0-1': times({ kind: 'block' }, 1) },
      { clock, maxBatchMs, abortGraceMs },
    )
    const inTime = (condition: () => boolean): Promise<void> =>
      until(() => {
        void clock.advance(1)
        return condition()
      })
    const stuck: HostEvents['observerStuck'][] = []
    one.host.on('observerStuck', (event) => stuck.push(event))
    const registered = one.register()
    await inTime(() => one.script.of('open').length === 4)
    await registered
    one.feed.append('key0')
    await inTime(() => one.script.atGate === 1 && one.script.of('processChanges').length > 0)
    const blocked = one.script.of('processChanges')[0]!
    await clock.advance(laterMs)
    write(one.feed, 64)
    const isElsewhere = one.script
      .of('open')
      .flatMap(({ threadId, context }) => (threadId === blocked.threadId ? [] : [context!.leaseId]))
    const isDone = (leaseId: string): boolean => {
      const index = one.feed.ranges.findIndex((range) => feedRangeId(range) === leaseId)
      const newest = one.feed.changesOf(index).at(-1)?.lsn
      return one.host
        .health()
        .leases.some((lease) => lease.leaseId === leaseId && lease.processedLsn === newest)
    }
    await inTime(() => isElsewhere.every(isDone))
    expect(stuck).toEqual([])
    // Long for the call that is blocked; not for the one that waits behind it.
    await clock.advance(maxBatchMs - laterMs)
    await inTime(() => one.ends.length === 1)
    expect(stuck.map(({ leaseId }) => leaseId)).toEqual([blocked.context!.leaseId])
    // The other lease of its thread goes on in another one.
    const others = one.feed.ranges.map(feedRangeId).filter((id) => id !== blocked.context!.leaseId)
    await inTime(() => others.every(isDone))
    expect(stuck).toHaveLength(1)
  })

  test('PH-8 processes keys in lanes in threads, in order per key', async () => {
    const one = stage({ key1: times({ kind: 'wait' }, 1) }, { ranges: 2, maxConcurrentKeys: 8 })
    await one.register({ maxConcurrentPerThread: 8 })
    one.feed.append('key1', 1)
    await until(() => one.script.atGate === 1)
    write(one.feed, 200)
    // Behind the key that waits nothing of its own comes; the others go on.
    const others = one.feed.changes.filter(({ partitionKey }) => partitionKey !== 'key1').length
    await until(() => handedOver(one.script) === others + 1)
    one.script.openGate()
    await until(() => handedOver(one.script) === 201)
    expectAllInOrder(one)
  })
})

describe('PH-13 a module', () => {
  test.each([
    ['nothing', 'no-observer.fixture.ts', /createObserver.*exports answer \(number\)/],
    ['an error', 'broken-module.fixture.ts', /cannot be loaded: the module is broken/],
    ['the end of its thread', 'exiting-module.fixture.ts', /ended its thread.*exit code 7/],
    ['no file', 'not-there.ts', /cannot be loaded: .*not-there/],
  ])(
    'that gives %s is refused at registration, and nothing is left running',
    async (_what, file, message) => {
      const one = stage()
      const before = process.getActiveResourcesInfo().length
      await expect(
        one.register({ observerModule: new URL(file, import.meta.url) }),
      ).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTION',
        message: expect.stringMatching(message),
      })
      expect(one.calls).toEqual([])
      expect(one.host.health().status).toBe('stopped')
      await until(() => process.getActiveResourcesInfo().length <= before, 'the end of the thread')
    },
  )

  test('whose loading never ends is waited for until the host is stopped, or for startTimeoutMs', async () => {
    const observerModule = new URL('endless-module.fixture.ts', import.meta.url)
    const slow = stage({}, { startTimeoutMs: 50 })
    await expect(slow.register({ observerModule })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringMatching(/not loaded within 50 ms/),
    })
    const stopped = stage()
    const registering = stopped.register({ observerModule })
    registering.catch(() => {})
    await stopped.host.unregisterObservers()
    await expect(registering).rejects.toMatchObject({ code: 'ERR_HOST_STOPPED' })
  })

  test.each(['default-class.fixture.ts', 'default-function.fixture.ts'])(
    'may have its factory as its default export (%s), and its path instead of a URL',
    async (file) => {
      const one = stage({ open: times({ kind: 'throw', what: 'coded' }, 0) })
      await one.register({ observerModule: fileURLToPath(new URL(file, import.meta.url)) })
      write(one.feed, 64)
      await until(() => handedOver(one.script) === 64)
    },
  )
})

test('PH-13 a process whose host was stopped ends by itself', async () => {
  const child = fork(fileURLToPath(new URL('thread-host.child.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const said: unknown[] = []
  child.on('message', (message) => said.push(message))
  const [code] = (await oneEvent(child, 'exit')) as [number | null]
  expect(said).toEqual(['processed 8', 'stopped'])
  expect(code).toBe(0)
})
