import type { Container } from '@azure/cosmos'
import {
  changeFeedProcessor,
  changeFeedProcessorWithAllVersionsAndDeletes,
  type ChangeFeedProcessorBuilder,
  type ChangesHandler,
} from '@tidemark/cosmos'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openInterop, type Interop } from '../interop/interop.fixture.ts'

interface Order {
  readonly id: string
  readonly _lsn?: number
}

let interop: Interop
let orders: Container
let leases: Container
beforeEach(async () => {
  interop = await openInterop()
  orders = await interop.container({ partitionKey: { paths: ['/id'], version: 2 } })
  leases = await interop.container({ partitionKey: { paths: ['/partitionKey'], version: 2 } })
  await write('a', 'b', 'c')
})
afterEach(() => interop.close())

async function write(...ids: readonly string[]): Promise<void> {
  for (const id of ids) await orders.items.create({ id })
}

function builder(handler: ChangesHandler<Order>): ChangeFeedProcessorBuilder<Order> {
  return changeFeedProcessor<Order>('mirror', handler)
    .instanceName('worker-1')
    .feed(orders)
    .leaseContainer(leases)
    .startFromBeginning()
    .pollInterval(20)
}

test('a handler gets documents, what it needs of their lease, and a signal', async () => {
  const seen: string[] = []
  const told: string[] = []
  const processor = builder(({ leaseToken, feedRange, attempt }, changes, signal) => {
    expect({ leaseToken, attempt }).toEqual({ leaseToken: '-FF', attempt: 1 })
    expect(feedRange).toMatchObject({ minInclusive: '', maxExclusive: 'FF' })
    expect(signal).toBeInstanceOf(AbortSignal)
    seen.push(...changes.map(({ id }) => id))
  })
    .onLeaseAcquired((token) => told.push(`acquired ${token}`))
    .onLeaseReleased((token) => told.push(`released ${token}`))
    .build()
  expect(processor.health().status).toBe('idle')
  await processor.start()
  await expect.poll(() => seen).toEqual(['a', 'b', 'c'])
  await processor.stop()
  expect(told).toEqual(['acquired -FF', 'released -FF'])

  // As in .NET, it can be started again, and goes on where it was.
  await write('d')
  await processor.start()
  await expect.poll(() => seen).toEqual(['a', 'b', 'c', 'd'])
  await expect(processor.start()).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  await processor.stop()
  await processor.stop()
})

test('changes whose handler fails come again, and the error is told', async () => {
  const calls: string[][] = []
  const errors: unknown[] = []
  await using processor = builder((_, changes) => {
    calls.push(changes.map(({ id }) => id))
    if (calls.length === 1) throw new Error('once')
  })
    .hostOptions({ retryDelayMs: 1 })
    .onError((leaseToken, error) => errors.push([leaseToken, String(error)]))
    .build()
  await processor.start()
  await expect.poll(() => calls).toHaveLength(2)
  expect(calls[1]).toEqual(calls[0])
  expect(errors).toEqual([['-FF', 'Error: once']])
})

test('with manual checkpoints, only what the handler has stored is not repeated', async () => {
  const calls: string[] = []
  const runUntil = async (count: number): Promise<void> => {
    await using processor = builder(async ({ checkpoint }, changes) => {
      const [change] = changes
      calls.push(change?.id ?? '')
      if (change?.id === 'a') await checkpoint()
    })
      .manualCheckpoint()
      .maxItems(1)
      .build()
    await processor.start()
    await expect.poll(() => calls).toHaveLength(count)
  }
  await runUntil(3)
  await runUntil(5)
  expect(calls).toEqual(['a', 'b', 'c', 'b', 'c'])
})

test('all versions and deletes come with what they were before', async () => {
  const container = await interop.container({
    partitionKey: { paths: ['/id'], version: 2 },
    changeFeedPolicy: { retentionDuration: 5 },
  })
  const seen: unknown[] = []
  await using processor = changeFeedProcessorWithAllVersionsAndDeletes<Order>('all', (_, items) => {
    for (const { id, operationType } of items) seen.push([id, operationType])
  })
    .feed(container)
    .leaseContainer(leases)
    .pollInterval(20)
    .build()
  await processor.start()
  await container.items.create({ id: 'a' })
  await container.item('a', 'a').delete()
  await expect
    .poll(() => seen)
    .toEqual([
      ['a', 'create'],
      ['a', 'delete'],
    ])
})

test('without a start option it starts from now; with a time, from that second on', async () => {
  const seenBy = async (
    name: string,
    start: (one: ChangeFeedProcessorBuilder<Order>) => ChangeFeedProcessorBuilder<Order>,
    more: string,
  ): Promise<readonly string[]> => {
    const seen: string[] = []
    const handler: ChangesHandler<Order> = (_, changes) => {
      seen.push(...changes.map(({ id }) => id))
    }
    await using processor = start(changeFeedProcessor<Order>(name, handler))
      .feed(orders)
      .inMemoryLeaseContainer()
      .pollInterval(20)
      .build()
    await processor.start()
    await write(more)
    await expect.poll(() => seen.at(-1)).toBe(more)
    return seen
  }
  expect(await seenBy('now', (one) => one, 'd')).toEqual(['d'])
  interop.clock.step(10_000)
  const time = new Date(interop.clock.wallMs())
  await write('e')
  expect(await seenBy('time', (one) => one.startTime(time), 'f')).toEqual(['e', 'f'])
})

test('what is missing or wrong is refused before anything starts', async () => {
  const handler: ChangesHandler<Order> = () => undefined
  const refused = (message: RegExp): unknown =>
    expect.objectContaining({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringMatching(message),
    })
  expect(() => changeFeedProcessor<Order>('mirror', handler).build()).toThrow(refused(/feed/))
  for (const wrong of [undefined, 'orders', {}]) {
    const given = wrong as never
    const noContainer = refused(/Container of @azure\/cosmos/)
    expect(() => changeFeedProcessor('mirror', handler).feed(given)).toThrow(noContainer)
    expect(() => changeFeedProcessor('mirror', handler).leaseContainer(given)).toThrow(noContainer)
  }
  expect(() => changeFeedProcessor<Order>('mirror', handler).feed(orders).build()).toThrow(
    refused(/leaseContainer/),
  )
  // @ts-expect-error -- no function
  expect(() => changeFeedProcessor('mirror', 'handler')).toThrow(refused(/handler/))
  expect(() => builder(handler).maxItems(0).build()).toThrow(refused(/maxItemCount/))
  // The intervals that are left out are V3's: 60 s.
  const renewing = (renewIntervalMs: number) =>
    builder(handler).leaseConfiguration({ renewIntervalMs }).build()
  expect(() => renewing(30_000)).not.toThrow()
  expect(() => renewing(30_001)).toThrow(refused(/leaseRenewIntervalMs/))
})

test('a lease container of .NET or Java is refused, with what to do', async () => {
  const ofDotnet = await interop.container({ partitionKey: { paths: ['/id'], version: 2 } })
  const processor = builder(() => undefined)
    .leaseContainer(ofDotnet)
    .build()
  await expect(processor.start()).rejects.toMatchObject({
    code: 'ERR_LEASE_STORAGE',
    message: expect.stringContaining('/partitionKey'),
  })
})
