import { describe, expect, it } from 'vitest'
import type { ReceivedMessage } from '../messages/message.ts'
import type { MessageHandlers } from './receiver-options.ts'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

const AT_ONCE = { maxWaitTimeInMs: 0 }

async function withQueue(): Promise<SimulatedBroker> {
  const world = await SimulatedBroker.open()
  await world.broker.createQueue('q', { lockDuration: 'PT10S', maxDeliveryCount: 3 })
  return world
}

async function send(world: SimulatedBroker, ...bodies: readonly unknown[]): Promise<void> {
  await world.broker.createSender('q').sendMessages(bodies.map((body) => ({ body })))
}

/** Handlers that note what they are told. */
function noting(processMessage: (message: ReceivedMessage<string>) => Promise<void>): {
  readonly handlers: MessageHandlers<string>
  readonly errors: { readonly source: string; readonly error: unknown }[]
} {
  const errors: { source: string; error: unknown }[] = []
  return {
    errors,
    handlers: {
      processMessage,
      processError: ({ error, errorSource: source }) => {
        errors.push({ source, error })
        return Promise.resolve()
      },
    },
  }
}

describe('subscribe', () => {
  it('completes a message when its handler resolves', async () => {
    await using world = await withQueue()
    const bodies: string[] = []
    const { handlers, errors } = noting(({ body }) => {
      bodies.push(body)
      return Promise.resolve()
    })
    world.broker.createReceiver<string>('q').subscribe(handlers)
    await send(world, 'a', 'b', 'c')
    await world.settled()
    expect(bodies).toEqual(['a', 'b', 'c'])
    expect(errors).toEqual([])
    expect(await world.broker.createReceiver('q').peekMessages(1)).toEqual([])
  })

  it('SET-02 abandons a message when its handler rejects, and tells processError', async () => {
    await using world = await withQueue()
    const counts: number[] = []
    const { handlers, errors } = noting(({ deliveryCount }) => {
      counts.push(deliveryCount)
      return Promise.reject(new Error('no'))
    })
    world.broker.createReceiver<string>('q').subscribe(handlers)
    await send(world, 'a')
    await world.pass(3_000)
    expect(counts).toEqual([0, 1, 2])
    expect(errors.map(({ source }) => source)).toEqual(Array(3).fill('processMessage'))
    const dead = world.broker.createReceiver('q', { subQueueType: 'deadLetter' })
    expect(await dead.peekMessages(1)).toMatchObject([
      { deadLetterReason: 'MaxDeliveryCountExceeded' },
    ])
  })

  it('runs at most maxConcurrentCalls handlers, and takes no more than that', async () => {
    await using world = await withQueue()
    const ends: (() => void)[] = []
    const { handlers } = noting(() => new Promise((resolve) => ends.push(resolve)))
    world.broker.createReceiver<string>('q').subscribe(handlers, { maxConcurrentCalls: 2 })
    await send(world, 'a', 'b', 'c')
    await world.settled()
    expect(ends).toHaveLength(2)
    const [free] = await world.broker.createReceiver('q').receiveMessages(5, AT_ONCE)
    expect(free!.body).toBe('c')
    for (const end of ends.splice(0)) end()
    await world.settled()
    expect(ends).toHaveLength(0)
  })

  it('settles nothing that the handler settled itself, and nothing when told not to', async () => {
    await using world = await withQueue()
    const receiver = world.broker.createReceiver<string>('q')
    const { handlers, errors } = noting((message) => receiver.deadLetterMessage(message))
    const subscription = receiver.subscribe(handlers)
    await send(world, 'a')
    await world.settled()
    await subscription.close()
    const seen: string[] = []
    const manual = noting(({ body }) => {
      seen.push(body)
      return Promise.resolve()
    })
    receiver.subscribe(manual.handlers, { autoCompleteMessages: false })
    await send(world, 'b')
    await world.settled()
    expect([seen, errors, manual.errors]).toEqual([['b'], [], []])
    expect(await receiver.peekMessages(5)).toMatchObject([{ body: 'b' }])
  })

  it('SET-07 renews the lock while a handler runs, for as long as the user wants', async () => {
    await using world = await withQueue()
    const ends: (() => void)[] = []
    const { handlers, errors } = noting(() => new Promise((resolve) => ends.push(resolve)))
    const renewing = world.broker.createReceiver<string>('q', {
      maxAutoLockRenewalDurationInMs: 40_000,
    })
    renewing.subscribe(handlers)
    await send(world, 'a')
    await world.pass(39_000)
    ends.pop()?.()
    await world.settled()
    expect(errors).toEqual([])
    expect(await renewing.peekMessages(1)).toEqual([])

    await send(world, 'b')
    await world.settled()
    await world.pass(60_000)
    ends.shift()?.()
    await world.settled()
    expect(errors.map(({ source }) => source)).toEqual(['settle'])
    for (const end of ends) end()
  })

  it('tells processError of a lock that was lost while it was renewed', async () => {
    await using world = await withQueue()
    const ends: (() => void)[] = []
    const { handlers, errors } = noting(({ lockToken }) => {
      // Somebody who knows the token completes it.
      void world.another().createReceiver('q').completeMessage({ lockToken })
      return new Promise((resolve) => ends.push(resolve))
    })
    world.broker.createReceiver<string>('q').subscribe(handlers)
    await send(world, 'a')
    await world.settled()
    await world.pass(6_000)
    expect(errors).toMatchObject([
      { source: 'renewLock', error: { code: 'ERR_MESSAGE_LOCK_LOST' } },
    ])
    for (const end of ends) end()
  })

  it('waits at its end for handlers that run, and takes nothing any more', async () => {
    await using world = await withQueue()
    const ends: (() => void)[] = []
    const { handlers, errors } = noting(() => new Promise((resolve) => ends.push(resolve)))
    const receiver = world.broker.createReceiver<string>('q')
    receiver.subscribe(handlers)
    await send(world, 'a', 'b')
    await world.settled()
    let isClosed = false
    const closing = receiver.close().then(() => {
      isClosed = true
    })
    await world.pass(1_000)
    expect(isClosed).toBe(false)
    ends[0]?.()
    await closing
    expect(errors).toEqual([])
    expect(ends).toHaveLength(1)
    expect(await world.broker.createReceiver('q').peekMessages(5)).toMatchObject([
      { body: 'b', deliveryCount: 0 },
    ])
  })

  it('ends by its signal', async () => {
    await using world = await withQueue()
    const abort = new AbortController()
    const { handlers, errors } = noting(() => Promise.resolve())
    world.broker.createReceiver<string>('q').subscribe(handlers, { signal: abort.signal })
    await world.settled()
    abort.abort()
    await world.broker.deleteQueue('q')
    await world.pass(60_000)
    expect(errors).toEqual([])
  })

  it('goes on when the entity is created later, and when it is deleted and created again', async () => {
    await using world = await SimulatedBroker.open()
    const bodies: string[] = []
    const { handlers, errors } = noting(async ({ body }) => void bodies.push(body))
    world.broker.createReceiver<string>('q').subscribe(handlers)
    for (const body of ['first', 'second']) {
      await world.pass(120_000)
      await world.broker.createQueue('q')
      await send(world, body)
      await world.pass(10_000)
      expect(bodies.at(-1)).toBe(body)
      await world.broker.deleteQueue('q')
    }
    const codes = errors.map(({ source, error }) => `${source} ${(error as { code: string }).code}`)
    expect(new Set(codes)).toEqual(new Set(['receive ERR_MESSAGING_ENTITY_NOT_FOUND']))
    // At growing intervals: told, and no flood.
    expect(codes.length).toBeLessThan(80)
  })

  it('SET-02 keeps a message longer after each failure, so that an outage of a second dead-letters nothing', async () => {
    await using world = await withQueue()
    await world.broker.updateQueue('q', { maxDeliveryCount: 5 })
    const started = world.clock.monotonicMs()
    const atMs: number[] = []
    const { handlers, errors } = noting(async () => {
      const nowMs = world.clock.monotonicMs() - started
      atMs.push(nowMs)
      if (nowMs < 1_000) throw new Error('away')
    })
    world.broker.createReceiver<string>('q').subscribe(handlers)
    await send(world, 'a', 'b', 'c')
    await world.pass(30_000)
    expect(errors.length).toBeGreaterThan(1)
    expect(await world.broker.createReceiver('q').peekMessages(9)).toEqual([])
    const dead = world.broker.createReceiver('q', { subQueueType: 'deadLetter' })
    expect(await dead.peekMessages(9)).toEqual([])
    const pauses = atMs.slice(1, errors.length).map((ms, index) => ms - atMs[index]!)
    for (const [index, pause] of pauses.entries()) {
      expect(pause).toBeGreaterThanOrEqual(125 * 2 ** index)
      expect(pause).toBeLessThanOrEqual(250 * 2 ** index)
    }
  })

  it('SET-02 gives a message back at once when it is closed in such a pause, or has none', async () => {
    await using world = await withQueue()
    const { handlers } = noting(() => Promise.reject(new Error('no')))
    const options = { retryDelayInMs: 9_000 }
    const subscription = world.broker.createReceiver<string>('q').subscribe(handlers, options)
    await send(world, 'a')
    await world.settled()
    await subscription.close()
    const [message] = await world.broker.createReceiver('q').receiveMessages(1, AT_ONCE)
    expect(message).toMatchObject({ body: 'a', deliveryCount: 1 })
    await send(world, 'b')
    const counts: number[] = []
    const hasty = noting(async ({ deliveryCount }) => {
      counts.push(deliveryCount)
      throw new Error('no')
    })
    world.broker.createReceiver<string>('q').subscribe(hasty.handlers, { retryDelayInMs: 0 })
    await world.settled()
    expect(counts).toEqual([0, 1, 2])
  })

  it('goes on receiving after a pause when the entity refuses', async () => {
    await using world = await withQueue()
    await world.broker.updateQueue('q', { status: 'ReceiveDisabled' })
    const bodies: string[] = []
    const { handlers, errors } = noting(({ body }) => {
      bodies.push(body)
      return Promise.resolve()
    })
    world.broker.createReceiver<string>('q').subscribe(handlers)
    await world.pass(1_000)
    expect(errors.length).toBeGreaterThan(1)
    expect(errors.length).toBeLessThan(6)
    expect(errors[0]).toMatchObject({ error: { code: 'ERR_MESSAGING_ENTITY_DISABLED' } })
    await world.broker.updateQueue('q', { status: 'Active' })
    await send(world, 'a')
    await world.pass(10_000)
    expect(bodies).toEqual(['a'])
  })

  it('begins with short pauses again after it has received something', async () => {
    await using world = await withQueue()
    const { handlers, errors } = noting(() => Promise.resolve())
    await world.broker.updateQueue('q', { status: 'ReceiveDisabled' })
    world.broker.createReceiver<string>('q').subscribe(handlers)
    await world.pass(60_000)
    await world.broker.updateQueue('q', { status: 'Active' })
    await send(world, 'a')
    await world.pass(10_000)
    expect(await world.broker.createReceiver('q').peekMessages(1)).toEqual([])
    errors.length = 0
    await world.broker.updateQueue('q', { status: 'ReceiveDisabled' })
    await send(world, 'b')
    await world.pass(1_000)
    expect(errors.length).toBeGreaterThan(1)
  })

  it('refuses handlers and options that are none', async () => {
    await using world = await withQueue()
    const receiver = world.broker.createReceiver<string>('q')
    const { handlers } = noting(() => Promise.resolve())
    const invalid = expect.objectContaining({ code: 'ERR_INVALID_OPTION' })
    expect(() => receiver.subscribe(handlers, { maxConcurrentCalls: 0 })).toThrow(invalid)
    const broken = { processMessage: () => Promise.resolve(), processError: undefined }
    // @ts-expect-error -- Programs without types call it so.
    expect(() => receiver.subscribe(broken)).toThrow(invalid)
  })
})
