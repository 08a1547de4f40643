import { describe, expect, test } from 'vitest'
import type { Change, DocumentBody, FeedObserver, ObserverContext } from '@tidemark/contracts'
import { SimulatedClock } from '@tidemark/testing'
import { resolveObserverModule } from './observer-module.ts'
import { ObserverServer } from './observer-server.ts'
import { ObserverThreads } from './observer-threads.ts'
import type { ThreadListener } from './thread-messages.ts'
import type { ThreadObserver } from './thread-observer.ts'
import { SCRIPTED, changesOf, contextOf } from './threads-stage.fixture.ts'

const CHANGES = changesOf('a', 'b', 'c', 'd')

interface Stage {
  readonly remote: ThreadObserver<DocumentBody>
  /** Ids of changes that the host was told of as accepted. */
  readonly accepted: string[]
  readonly context: ObserverContext
  readonly clock: SimulatedClock
  readonly abort: () => void
  readonly end: () => void
}

/**
 * The two sides of a thread without one: messages are passed on at once. `goesOn` is what the host answers. The time of
 * the thread moves by `stepMs` with each change that is accepted: the host is told of each, or of the first alone.
 */
async function stage(
  observer: FeedObserver,
  goesOn: (id: string) => boolean,
  { stepMs = 1_000 }: { readonly stepMs?: number } = {},
): Promise<Stage> {
  const module = resolveObserverModule(
    { observerModule: SCRIPTED, threads: 1 },
    { maxConcurrentObservers: 32 },
  )
  const clock = new SimulatedClock()
  let nowMs = 0
  let thread: ThreadListener | undefined
  const threads = new ObserverThreads({
    module,
    startThread: (listener) => {
      thread = listener
      const server = new ObserverServer({
        make: () => observer,
        data: undefined,
        post: (message) => listener.onMessage(message),
        nowMs: () => (nowMs += stepMs),
      })
      return {
        post: (message) => {
          if (message.kind !== 'end') server.receive(message)
        },
        terminate: () => {},
      }
    },
    clock,
    startTimeoutMs: 1_000,
    graceMs: 1_000,
    onThreadEnd: () => {},
  })
  const accepted: string[] = []
  const aborting = new AbortController()
  const context = contextOf('lease', {
    signal: aborting.signal,
    accepted: ({ id }) => {
      if (accepted.at(-1) !== id) accepted.push(id)
      return goesOn(id)
    },
  })
  const remote = threads.forLease<DocumentBody>().createObserver()
  await remote.open(context)
  const end = (): void => thread?.onExit({ exitCode: 1, error: new Error('out of memory') })
  return { remote, accepted, context, clock, abort: () => aborting.abort(), end }
}

describe('PH-15 an observer in a thread', () => {
  test('says how far it has come, and that it takes one change after the other', async () => {
    const { remote, accepted, context } = await stage({ processChange() {} }, () => true)
    await remote.processChanges(context, CHANGES)
    expect(accepted).toEqual(['a', 'b', 'c', 'd'])
    expect(remote.isOneByOne).toBe(true)
  })

  test('is told to stop', async () => {
    const seen: string[] = []
    const one = { processChange: (_context: unknown, { id }: Change) => void seen.push(id) }
    const { remote, accepted, context } = await stage(one, (id) => id !== 'b')
    await remote.processChanges(context, CHANGES)
    expect([seen, accepted]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
  })

  test('fails, and the host knows what it had accepted', async () => {
    const failure = new Error('no')
    const processChange = (_context: unknown, { id }: Change): void => {
      if (id === 'c') throw failure
    }
    const { remote, accepted, context } = await stage({ processChange }, () => true)
    await expect(remote.processChanges(context, CHANGES)).rejects.toThrow('no')
    expect(accepted).toEqual(['a', 'b'])
  })

  test('dies with its thread, and the host knows what it had accepted', async () => {
    const third = Promise.withResolvers<void>()
    const processChange = async (_context: unknown, { id }: Change): Promise<void> => {
      if (id !== 'c') return
      third.resolve()
      await new Promise(() => {})
    }
    const { remote, accepted, context, end } = await stage({ processChange }, () => true)
    const call = remote.processChanges(context, CHANGES)
    await third.promise
    end()
    await expect(call).rejects.toMatchObject({ code: 'ERR_OBSERVER_THREAD_ENDED' })
    expect(accepted).toEqual(['a', 'b'])
  })

  test('hangs, and the host knows what it had accepted: by itself, and when it aborts the call', async () => {
    const on = Promise.withResolvers<void>()
    const processChanges = async (
      { accepted }: ObserverContext,
      changes: readonly Change[],
    ): Promise<void> => {
      for (const change of changes.slice(0, 2)) accepted(change)
      await on.promise
      accepted(changes[2]!)
      await new Promise(() => {})
    }
    const { remote, accepted, context, clock, abort, end } = await stage(
      { processChanges },
      () => true,
      { stepMs: 0 },
    )
    const call = remote.processChanges(context, CHANGES)
    await clock.advance(10)
    expect(accepted).toEqual(['a', 'b'])
    on.resolve()
    await on.promise
    abort()
    expect(accepted).toEqual(['a', 'b', 'c'])
    end()
    await expect(call).rejects.toMatchObject({ code: 'ERR_OBSERVER_THREAD_ENDED' })
  })

  test('that was not told to stop has accepted all when it returns', async () => {
    const rest = Promise.withResolvers<void>()
    const processChanges = async (
      { accepted }: ObserverContext,
      [first]: readonly Change[],
    ): Promise<void> => {
      accepted(first!)
      await rest.promise
    }
    let isStopping = false
    const { remote, accepted, context, abort } = await stage({ processChanges }, () => !isStopping)
    const call = remote.processChanges(context, CHANGES)
    await Promise.resolve()
    isStopping = true
    abort()
    rest.resolve()
    await call
    expect(accepted).toEqual(['a', 'd'])
  })

  test('that accepts where it may not gets the refusal of the host as its own failure', async () => {
    const refusal = new Error('not here')
    const { remote, context } = await stage({ processChange() {} }, () => {
      throw refusal
    })
    await expect(remote.processChanges(context, CHANGES)).rejects.toBe(refusal)
  })
})
