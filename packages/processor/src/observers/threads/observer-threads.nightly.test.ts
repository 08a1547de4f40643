import { afterEach, describe, expect, test } from 'vitest'
import {
  LeaseLostError,
  lsn,
  systemClock,
  type Clock,
  type DocumentBody,
  type ObserverContext,
} from '@tidemark/contracts'
import { resolveObserverModule, type ObserverModule } from './observer-module.ts'
import { ObserverThreads, type LeaseObservers } from './observer-threads.ts'
import { startObserverThread } from './platform/start-observer-thread.ts'
import type { ScriptData } from './scripted-observer.fixture.ts'
import type { ThreadObserver } from './thread-observer.ts'
import type { FromThread } from './thread-messages.ts'
import { SCRIPTED, Script, changesOf, contextOf, until } from './threads-stage.fixture.ts'

const ended: AsyncDisposable[] = []

afterEach(async () => {
  for (const one of ended.splice(0).reverse()) await one[Symbol.asyncDispose]()
})

interface ThreadEnd {
  readonly error: Error
  readonly leaseIds: readonly string[]
}

type Observer = ThreadObserver<DocumentBody>

interface Stage {
  readonly script: Script
  readonly threads: ObserverThreads
  readonly ends: ThreadEnd[]
  /** What the threads said. */
  readonly messages: FromThread[]
  /** An observer that was opened. */
  readonly open: (leaseId: string, over?: Partial<ObserverContext>) => Promise<Observer>
  /** The same with its queue. */
  readonly lease: (leaseId: string) => Promise<{
    readonly observer: Observer
    readonly queue: LeaseObservers<DocumentBody>['queue']
  }>
}

function stage(
  deeds: ScriptData['deeds'] = {},
  { clock = systemClock, ...options }: Partial<ObserverModule> & { clock?: Clock } = {},
): Stage {
  const script = new Script(deeds)
  const ends: ThreadEnd[] = []
  const messages: FromThread[] = []
  const module = resolveObserverModule(
    { observerModule: SCRIPTED, threads: 1, observerData: script.data, ...options },
    { maxConcurrentObservers: 32 },
  )
  const threads = new ObserverThreads({
    module,
    startThread: ({ onMessage, onExit }) =>
      startObserverThread(module, {
        onExit,
        onMessage: (message) => {
          messages.push(message)
          onMessage(message)
        },
      }),
    clock,
    startTimeoutMs: 20_000,
    graceMs: 20_000,
    onThreadEnd: (error, leaseIds) => ends.push({ error, leaseIds }),
  })
  ended.push({
    [Symbol.asyncDispose]: async () => {
      script[Symbol.dispose]()
      await threads.stop()
    },
  })
  const lease: Stage['lease'] = async (leaseId) => {
    const { createObserver, queue } = threads.forLease()
    const observer = createObserver()
    await observer.open(contextOf(leaseId))
    return { observer, queue }
  }
  return {
    script,
    threads,
    ends,
    messages,
    lease,
    open: async (leaseId, over) => {
      const observer = threads.forLease().createObserver()
      await observer.open(contextOf(leaseId, over))
      return observer
    },
  }
}

/** Every wait is over at once. */
class HastyClock implements Clock {
  waits = 0
  wallMs(): number {
    return systemClock.wallMs()
  }
  monotonicMs(): number {
    return systemClock.monotonicMs()
  }
  async sleep(): Promise<void> {
    this.waits += 1
  }
}

const once = (deed: ScriptData['deeds'][string]['deed']): ScriptData['deeds'][string] => ({
  deed,
  times: 1,
})
const always = (deed: ScriptData['deeds'][string]['deed']): ScriptData['deeds'][string] => ({
  deed,
  times: 1e9,
})

describe('PH-13 observers in threads', () => {
  test('leases go to the thread that has the fewest, and an observer stays in its thread with its state', async () => {
    const { script, open } = stage({}, { threads: 3 })
    const ids = Array.from({ length: 8 }, (_, n) => `lease${n}`)
    const observers = await Promise.all(ids.map((id) => open(id)))
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(
        observers.map((one, n) => one.processChanges(contextOf(ids[n]!), changesOf('a', 'b'))),
      )
    }
    await until(() => script.of('processChanges').length === 24)
    const perThread = new Map<number, Set<string>>()
    for (const id of ids) {
      const calls = script.of('processChanges', id)
      expect(new Set(calls.map(({ threadId, instance }) => `${threadId}/${instance}`)).size).toBe(1)
      expect(calls.map(({ before }) => before)).toEqual([0, 1, 2])
      const { threadId } = calls[0]!
      perThread.set(threadId, (perThread.get(threadId) ?? new Set()).add(id))
    }
    expect([...perThread.values()].map(({ size }) => size).sort((a, b) => a - b)).toEqual([2, 3, 3])
    expect(script.of('make')).toHaveLength(8)
    // Places that became free are taken first.
    const [freed, leavers] = [...perThread].find(([, leases]) => leases.size === 3)!
    for (const id of leavers) {
      await observers[ids.indexOf(id)]!.close(contextOf(id), 'leaseHandedOver')
    }
    await open('new1')
    await open('new2')
    await until(() => script.of('open', 'new2').length === 1)
    for (const id of ['new1', 'new2']) expect(script.of('open', id)[0]?.threadId).toBe(freed)
  })

  test('threads start when there is a lease for them', async () => {
    const { threads, messages, open } = stage({}, { threads: 4 })
    await threads.load(new AbortController().signal)
    const started = (): number => messages.filter(({ kind }) => kind === 'ready').length
    expect(started()).toBe(1)
    await open('a')
    expect(started()).toBe(1)
    await open('b')
    expect(started()).toBe(2)
  })

  test('the context and what is handed over with it cross', async () => {
    const { script, open } = stage()
    const range = { minInclusive: '10', maxExclusive: '20', more: () => {} }
    const fence = { generation: 'g2', epoch: 9, lsn: lsn(33) }
    const observer = await open('a')
    await observer.processChanges(
      contextOf('a', { range, fence, attempt: 4, redriven: true }),
      changesOf('one', 'two'),
    )
    const resync = { range, lsn: lsn(1), horizon: lsn(2), untilLsn: lsn(3) }
    await observer.resynchronize(contextOf('a'), resync)
    await observer.close(contextOf('a'), 'leaseHandedOver')
    await until(() => script.of('close').length === 1)
    const plain = { minInclusive: '10', maxExclusive: '20' }
    expect(script.of('processChanges')[0]).toMatchObject({
      ids: ['one', 'two'],
      context: {
        hostName: 'host',
        group: 'group',
        leaseId: 'a',
        range: plain,
        fence,
        attempt: 4,
        redriven: true,
      },
    })
    expect(script.of('resynchronize')[0]?.resync).toEqual({ ...resync, range: plain })
    expect(script.of('close')[0]?.reason).toBe('leaseHandedOver')
  })

  test('a change that cannot be cloned fails its call, and nothing else', async () => {
    const { script, open } = stage()
    const observer = await open('a')
    const [change] = changesOf('a')
    const odd = { ...change!, document: { id: 'a', odd: () => {} } } as never
    await expect(observer.processChanges(contextOf('a'), [odd])).rejects.toThrow(/clone/)
    await observer.processChanges(contextOf('a'), changesOf('b'))
    await until(() => script.of('processChanges').length === 1)
  })

  test('what is thrown comes back with name, message, code, stack, causes and properties', async () => {
    const { open } = stage({
      coded: always({ kind: 'throw', what: 'coded' }),
      text: always({ kind: 'throw', what: 'text' }),
      object: always({ kind: 'throw', what: 'object' }),
      uncloneable: always({ kind: 'throw', what: 'uncloneable' }),
      hostile: always({ kind: 'throw', what: 'hostile' }),
    })
    const observer = await open('a')
    const thrownBy = async (id: string): Promise<unknown> => {
      try {
        await observer.processChanges(contextOf('a'), changesOf(id))
      } catch (error) {
        return error
      }
      throw new Error('nothing was thrown')
    }
    const coded = await thrownBy('coded')
    expect(coded).toBeInstanceOf(Error)
    expect(coded).toMatchObject({
      name: 'PoisonError',
      message: 'poison',
      code: 'ERR_POISON',
      retryable: false,
      detail: { rows: [1, 2] },
      cause: { name: 'RangeError', message: 'too many', cause: 'rows' },
    })
    expect((coded as Error).stack).toContain('scripted-observer.fixture.ts')
    expect(await thrownBy('text')).toBe('only text')
    expect(await thrownBy('object')).toEqual({ reason: 'odd' })
    expect(await thrownBy('uncloneable')).toContain('a function')
    expect(await thrownBy('hostile')).toBe('a value that has no text')
  })

  test('an observer that cannot be opened is closed in its thread, and the next one is another', async () => {
    const { script, threads } = stage({ open: once({ kind: 'throw', what: 'coded' }) })
    const { createObserver } = threads.forLease()
    const first = createObserver()
    await expect(async () => first.open(contextOf('a'))).rejects.toMatchObject({
      code: 'ERR_POISON',
    })
    await first.close(contextOf('a'), 'observerError')
    const second = createObserver()
    await second.open(contextOf('a'))
    await second.processChanges(contextOf('a'), changesOf('x'))
    await until(() => script.of('processChanges').length === 1)
    expect(script.reports.map(({ call, instance }) => `${call} ${instance}`)).toEqual([
      'make 1',
      'open 1',
      'close 1',
      'make 2',
      'open 2',
      'processChanges 2',
    ])
  })
})

describe('PH-13 checkpoint() of an observer in a thread', () => {
  test('resolves when the position is stored, and rejects with the code it was refused with', async () => {
    const { script, open } = stage({ ask: always({ kind: 'checkpoint' }) })
    const observer = await open('a')
    const asked: string[] = []
    const stored = Promise.withResolvers<void>()
    const running = observer.processChanges(
      contextOf('a', {
        checkpoint: async () => {
          asked.push('first')
          await stored.promise
        },
      }),
      changesOf('ask'),
    )
    await until(() => asked.length === 1)
    expect(script.of('late')).toEqual([])
    stored.resolve()
    await running
    await observer.processChanges(
      contextOf('a', {
        checkpoint: () => Promise.reject(new LeaseLostError('a')),
      }),
      changesOf('ask'),
    )
    await until(() => script.of('late').length === 2)
    expect(script.of('late').map(({ outcome }) => outcome)).toEqual(['stored', 'ERR_LEASE_LOST'])
  })

  test('can be asked of a context that was kept, until the observer is closed', async () => {
    const { script, open } = stage({ keep: once({ kind: 'checkpointLate' }) })
    const observer = await open('a')
    const asked: number[] = []
    const context = (number: number): ObserverContext =>
      contextOf('a', { checkpoint: async () => void asked.push(number) })
    await observer.processChanges(context(1), changesOf('keep'))
    await observer.processChanges(context(2), changesOf('other'))
    await observer.close(context(3), 'shutdown')
    await until(() => script.of('late').length === 2)
    expect(asked).toEqual([1])
    expect(script.of('late').map(({ outcome }) => outcome)).toEqual(['stored', 'ERR_LEASE_LOST'])
  })

  test('contexts that the observer let go of are let go of here', async () => {
    const { messages, open } = stage({ collect: once({ kind: 'collectGarbage' }) })
    const observer = await open('a')
    for (let n = 0; n < 100; n += 1) await observer.processChanges(contextOf('a'), changesOf('x'))
    await observer.processChanges(contextOf('a'), changesOf('collect'))
    const forgotten = (): number => messages.filter(({ kind }) => kind === 'forget').length
    // Whichever the collector leaves for later.
    await until(() => forgotten() > 90)
  })
})

describe('PH-13 the signal of an observer in a thread', () => {
  test('aborts there, with its reason', async () => {
    const { script, open } = stage({ wait: once({ kind: 'waitUntilAborted' }) })
    const lease = new AbortController()
    const observer = await open('a', { signal: lease.signal })
    const running = observer.processChanges(
      contextOf('a', { signal: lease.signal }),
      changesOf('wait'),
    )
    await until(() => script.atGate === 1)
    lease.abort(new LeaseLostError('a'))
    await expect(running).rejects.toMatchObject({
      message: 'aborted true',
      cause: { code: 'ERR_LEASE_LOST' },
    })
  })

  test('is seen by an observer that computes and looks at no events', async () => {
    const { script, open } = stage({ spin: once({ kind: 'computeUntilAborted' }) })
    const lease = new AbortController()
    const observer = await open('a', { signal: lease.signal })
    const running = observer.processChanges(
      contextOf('a', { signal: lease.signal }),
      changesOf('spin'),
    )
    await until(() => script.atGate === 1)
    lease.abort()
    await expect(running).rejects.toMatchObject({ name: 'AbortError' })
  })

  test.each(['wait', 'spin'])('of one call alone aborts that call alone (%s)', async (how) => {
    const { script, open } = stage({
      wait: once({ kind: 'waitUntilAborted' }),
      spin: once({ kind: 'computeUntilAborted' }),
    })
    const observer = await open('a')
    const own = new AbortController()
    const running = observer.processChanges(contextOf('a', { signal: own.signal }), changesOf(how))
    await until(() => script.atGate === 1)
    own.abort(new Error('stuck'))
    await expect(running).rejects.toThrow()
    const other = contextOf('a')
    await observer.processChanges(other, changesOf('x'))
    await until(() => script.of('processChanges').length === 2)
  })

  test('a batch that waited in a busy thread until its lease was lost is not begun', async () => {
    const { script, open } = stage({ block: once({ kind: 'block' }) })
    const lease = new AbortController()
    const busy = await open('a')
    const waiting = await open('b', { signal: lease.signal })
    const blocked = busy.processChanges(contextOf('a'), changesOf('block'))
    await until(() => script.atGate === 1)
    const late = waiting.processChanges(contextOf('b', { signal: lease.signal }), changesOf('x'))
    lease.abort()
    script.openGate()
    await expect(late).rejects.toMatchObject({ name: 'AbortError' })
    await blocked
    await waiting.close(contextOf('b'), 'leaseLost')
    await until(() => script.of('close').length === 1)
    expect(script.of('processChanges', 'b')).toEqual([])
  })
})

describe('PH-13 a thread that dies', () => {
  test.each([
    [{ kind: 'exit', code: 3 }, /exit code 3/, undefined],
    [{ kind: 'uncaught' }, /nobody catches this/, { name: 'TypeError' }],
    [{ kind: 'unhandled' }, /nobody handles this/, { name: 'TypeError' }],
    [{ kind: 'outOfMemory' }, /memory/, { code: 'ERR_WORKER_OUT_OF_MEMORY' }],
  ] as const)(
    'by %o fails the calls in flight, and the next ones open other observers',
    async (deed, message, cause) => {
      const { script, open, ends } = stage(
        { die: once(deed), wait: once({ kind: 'wait' }) },
        { threads: 2, maxConcurrentPerThread: 2, resourceLimits: { maxOldGenerationSizeMb: 40 } },
      )
      // Two on one thread, and one on the other.
      const first = await open('a')
      const other = await open('b')
      const beside = await open('c')
      await other.processChanges(contextOf('b'), changesOf('x'))
      const waiting = beside.processChanges(contextOf('c'), changesOf('wait'))
      waiting.catch(() => {})
      await until(() => script.atGate === 1)
      const died = { code: 'ERR_OBSERVER_THREAD_ENDED', message: expect.stringMatching(message) }
      await expect(first.processChanges(contextOf('a'), changesOf('die'))).rejects.toMatchObject(
        died,
      )
      await expect(waiting).rejects.toMatchObject(died)
      if (cause !== undefined) expect(ends[0]?.error.cause).toMatchObject(cause)
      expect(ends).toHaveLength(1)
      expect([...ends[0]!.leaseIds].sort()).toEqual(['a', 'c'])
      script.openGate()
      await first.processChanges(contextOf('a', { attempt: 2 }), changesOf('die'))
      await beside.processChanges(contextOf('c', { attempt: 2 }), changesOf('wait'))
      await other.processChanges(contextOf('b'), changesOf('x'))
      await until(() => script.of('processChanges').length === 6)
      for (const id of ['a', 'c']) {
        const opens = script.of('open', id)
        expect(opens).toHaveLength(2)
        expect(opens[1]!.threadId).not.toBe(opens[0]!.threadId)
        expect(script.of('processChanges', id).at(-1)).toMatchObject({
          threadId: opens[1]!.threadId,
          before: 0,
          context: { attempt: 2 },
        })
      }
      // The other thread is as it was.
      expect(script.of('open', 'b')).toHaveLength(1)
      expect(script.of('processChanges', 'b').map(({ before }) => before)).toEqual([0, 1])
      await first.close(contextOf('a'), 'shutdown')
      expect(ends).toHaveLength(1)
    },
  )

  test('while nobody calls is told of, and fails nothing', async () => {
    const { script, open, ends } = stage({ soon: once({ kind: 'exitSoon', code: 5 }) })
    const observer = await open('a')
    const other = await open('b')
    await other.processChanges(contextOf('b'), changesOf('soon'))
    await until(() => ends.length === 1)
    expect(ends[0]).toMatchObject({
      error: { code: 'ERR_OBSERVER_THREAD_ENDED', message: expect.stringMatching(/exit code 5/) },
      leaseIds: ['a', 'b'],
    })
    // One that is closed before its next call is not opened again, and there is nothing to close.
    await other.close(contextOf('b'), 'shutdown')
    await observer.processChanges(contextOf('a'), changesOf('x'))
    await until(() => script.of('processChanges', 'a').length === 1)
    expect(script.of('open').map(({ context }) => context?.leaseId)).toEqual(['a', 'b', 'a'])
    expect(script.of('close')).toEqual([])
  })

  test('at the opening of the next observer fails that call, and the one after it tries again', async () => {
    const { script, open } = stage({
      die: once({ kind: 'exit', code: 1 }),
      open: { deed: { kind: 'throw', what: 'coded' }, times: 2 },
    })
    const { done } = script.data
    const openings = 1
    // The first one is to succeed.
    Atomics.store(done, openings, 2)
    const observer = await open('a')
    Atomics.store(done, openings, 0)
    const attempt = (id: string): Promise<void> =>
      observer.processChanges(contextOf('a'), changesOf(id))
    await expect(attempt('die')).rejects.toMatchObject({ code: 'ERR_OBSERVER_THREAD_ENDED' })
    await expect(attempt('die')).rejects.toMatchObject({ code: 'ERR_POISON' })
    await expect(attempt('die')).rejects.toMatchObject({ code: 'ERR_POISON' })
    await attempt('die')
    await until(() => script.of('processChanges').length === 2)
    expect(script.of('open')).toHaveLength(4)
    // Each that could not be opened was closed.
    expect(script.of('close').map(({ reason }) => reason)).toEqual([
      'observerError',
      'observerError',
    ])
  })

  test('whose lease is given up while its next observer is opened leaves one close for that one', async () => {
    const { script, open } = stage({
      die: once({ kind: 'exit', code: 1 }),
      open: { deed: { kind: 'wait' }, times: 2 },
    })
    const openings = 1
    // The first one does not wait.
    Atomics.store(script.data.done, openings, 2)
    const observer = await open('a')
    await expect(observer.processChanges(contextOf('a'), changesOf('die'))).rejects.toThrow()
    Atomics.store(script.data.done, openings, 0)
    const late = observer.processChanges(contextOf('a'), changesOf('x'))
    late.catch(() => {})
    await until(() => script.atGate === 1)
    await observer.close(contextOf('a'), 'leaseLost')
    await expect(late).rejects.toMatchObject({ code: 'ERR_HOST_STOPPED' })
    await until(() => script.of('close').length === 1)
    expect(script.of('close')[0]).toMatchObject({ instance: 1, reason: 'leaseLost' })
    // Nothing is called after it.
    script.openGate()
    await expect(observer.processChanges(contextOf('a'), changesOf('y'))).rejects.toMatchObject({
      code: 'ERR_HOST_STOPPED',
    })
    expect(script.of('processChanges')).toHaveLength(1)
  })

  test('again and again under one call fails that call alone: the others are not called beside it', async () => {
    const { script, lease } = stage(
      { die: { deed: { kind: 'exit', code: 1 }, times: 4 } },
      { maxConcurrentPerThread: 8 },
    )
    const leases = await Promise.all(['a', 'b', 'c', 'd'].map((id) => lease(id)))
    const failures = new Map<string, number>()
    /** As a pump does: in the queue, until it is accepted. */
    const work = async (n: number, id: string): Promise<void> => {
      const { observer, queue } = leases[n]!
      const leaseId = 'abcd'[n]!
      for (let attempt = 1; ; attempt += 1) {
        try {
          await queue.add(async () => {
            await observer.processChanges(contextOf(leaseId, { attempt }), changesOf(id))
          })
          return
        } catch {
          failures.set(leaseId, attempt)
        }
      }
    }
    await Promise.all([work(0, 'die'), work(1, 'x'), work(2, 'x'), work(3, 'x')])
    await until(() => script.of('open', 'a').length > 4)
    expect(failures.get('a')).toBe(4)
    for (const innocent of ['b', 'c', 'd'])
      expect(failures.get(innocent) ?? 0).toBeLessThanOrEqual(1)
  })
})

describe('PH-13 calls of one thread', () => {
  test('come one at a time, in their order; those of another thread do not wait for them', async () => {
    const { script, lease } = stage({ block: once({ kind: 'block' }) }, { threads: 2 })
    const [a, b, c] = [await lease('a'), await lease('b'), await lease('c')]
    const call = (one: typeof a, id: string, doc: string): Promise<unknown> =>
      one.queue.add(async () => {
        await one.observer.processChanges(contextOf(id), changesOf(doc))
      })
    const blocked = call(a, 'a', 'block')
    await until(() => script.atGate === 1)
    const begun: string[] = []
    const waiting = c.queue.add(async () => {
      begun.push('c')
      await c.observer.processChanges(contextOf('c'), changesOf('x'))
    })
    await call(b, 'b', 'x')
    await call(b, 'b', 'y')
    expect(begun).toEqual([])
    script.openGate()
    await blocked
    await waiting
    expect(begun).toEqual(['c'])
  })

  test('of an observer that hangs, and is closed, give their place to the others', async () => {
    const { script, lease } = stage({ hang: once({ kind: 'hang' }) })
    const [a, b] = [await lease('a'), await lease('b')]
    const hanging = a.observer.processChanges(contextOf('a'), changesOf('hang'))
    hanging.catch(() => {})
    await until(() => script.of('processChanges', 'a').length === 1)
    const waiting = b.queue.add(async () => {
      await b.observer.processChanges(contextOf('b'), changesOf('x'))
    })
    await a.observer.close(contextOf('a'), 'observerStuck')
    await waiting
    await expect(hanging).rejects.toThrow(/closed/)
    // In the same thread: it was not blocked.
    await until(() => script.of('processChanges', 'b').length === 1)
    expect(script.of('open', 'b')).toHaveLength(1)
  })

  test('that were given up and block their thread end it, and the others go on in a new one', async () => {
    const { script, lease, ends } = stage(
      { block: once({ kind: 'block' }) },
      { clock: new HastyClock() },
    )
    const [a, b] = [await lease('a'), await lease('b')]
    const stuck = a.observer.processChanges(contextOf('a'), changesOf('block'))
    stuck.catch(() => {})
    await until(() => script.atGate === 1)
    const waiting = b.queue.add(async () => {
      await b.observer.processChanges(contextOf('b'), changesOf('x'))
    })
    const died = { code: 'ERR_OBSERVER_THREAD_ENDED' }
    await expect(async () =>
      a.observer.close(contextOf('a'), 'observerStuck'),
    ).rejects.toMatchObject(died)
    await expect(stuck).rejects.toMatchObject(died)
    await waiting
    expect(ends[0]?.error.message).toContain('given up')
    await until(() => script.of('processChanges', 'b').length === 1)
    expect(script.of('open', 'b')).toHaveLength(2)
  })

  test('that take long do not end their thread when another of its leases is closed', async () => {
    const clock = new HastyClock()
    const { script, lease, ends } = stage({ block: once({ kind: 'block' }) }, { clock })
    const [a, b] = [await lease('a'), await lease('b')]
    const long = a.observer.processChanges(contextOf('a'), changesOf('block'))
    await until(() => script.atGate === 1)
    const closing = b.observer.close(contextOf('b'), 'leaseHandedOver')
    await until(() => clock.waits > 0, 'the end of the grace')
    script.openGate()
    await long
    await closing
    expect(ends).toEqual([])
  })
})

describe('PH-13 the end of the threads', () => {
  test('leaves nothing behind, also of threads that are blocked', async () => {
    const before = process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length
    const { script, threads, open, ends } = stage(
      { block: once({ kind: 'block' }) },
      { threads: 3, clock: new HastyClock() },
    )
    const [observer] = [await open('a'), await open('b'), await open('c')]
    const blocked = observer.processChanges(contextOf('a'), changesOf('block'))
    blocked.catch(() => {})
    await until(() => script.atGate === 1)
    const ports = (): number =>
      process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length
    expect(ports()).toBeGreaterThanOrEqual(before + 3)
    await threads.stop()
    await threads.stop()
    await expect(blocked).rejects.toMatchObject({ code: 'ERR_OBSERVER_THREAD_ENDED' })
    script[Symbol.dispose]()
    await until(() => ports() <= before, 'the end of the ports')
    // Nobody asked why.
    expect(ends).toEqual([])
    await expect(open('d')).rejects.toMatchObject({ code: 'ERR_HOST_STOPPED' })
  })
})
