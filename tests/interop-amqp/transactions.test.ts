import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import rhea from 'rhea'
import { describe, expect, test } from 'vitest'
import { CampaignProcess } from '../campaign/campaign-process.ts'
import type { FrontMessage, FrontTask } from '../crash/amqp/messages.ts'
import { openMessagingStore } from '../crash/messaging/messaging-store.ts'
import { DISPOSITION, DETACH, message, value } from '../fuzz/amqp/raw-client.ts'
import { ROOT } from './credentials.ts'
import { Namespace } from './interop-amqp.fixture.ts'
import {
  OUTCOMES,
  outcomeOf,
  reasonOf,
  TransactingClient,
  type Described,
} from './transacting-client.fixture.ts'

const KEY = { name: ROOT.name, key: ROOT.key }
const ACCEPTED = 0x24
const REJECTED = 0x25
const UNKNOWN = 'amqp:transaction:unknown-id'
const ROLLED_BACK = 'amqp:transaction:rollback'
const LIMIT = 'amqp:resource-limit-exceeded'

/** Queues `from` and `to`, and a client with links to both. */
async function twoQueues(): Promise<
  AsyncDisposable & { readonly space: Namespace; readonly client: TransactingClient }
> {
  const space = await Namespace.open()
  await space.broker.createQueue('from', { maxDeliveryCount: 10 })
  await space.broker.createQueue('to')
  const client = await TransactingClient.open(space.front.port, KEY)
  await client.openSender('from')
  await client.openSender('to')
  return {
    space,
    client,
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]()
      await space[Symbol.asyncDispose]()
    },
  }
}

async function bodies(space: Namespace, path: string): Promise<readonly unknown[]> {
  const receiver = space.broker.createReceiver(path)
  const found = await receiver.peekMessages(200)
  await receiver.close()
  return found.map(({ body }) => Buffer.from(body as Uint8Array).toString())
}

async function sendPlain(space: Namespace, path: string, ...texts: string[]): Promise<void> {
  const sender = space.broker.createSender(path)
  for (const text of texts) await sender.sendMessages({ body: Buffer.from(text) })
}

describe('a commit', () => {
  test('TXN-01 does what was sent and settled in several entities', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await sendPlain(space, 'from', 'x')
    const delivery = await client.receive('from')
    const id = await client.declare()
    expect(outcomeOf(await client.send('to', 'y', id))).toEqual([ACCEPTED])
    expect(outcomeOf(await client.send('from', 'z', id))).toEqual([ACCEPTED])
    const disposed = await client.dispose(delivery, id)
    expect(disposed.fields[3]).toBe(false)
    expect((disposed.fields[4] as Described).value[0]).toEqual(id)
    expect(await bodies(space, 'to')).toEqual([])
    expect(await bodies(space, 'from')).toEqual(['x'])
    expect(outcomeOf(await client.commit(id))).toEqual([ACCEPTED])
    expect(await bodies(space, 'to')).toEqual(['y'])
    expect(await bodies(space, 'from')).toEqual(['z'])
    const settled = client.raw.frames.filter(
      ({ code, fields }) => code === DISPOSITION && fields[0] === false,
    )
    expect(settled.map(({ fields }) => fields[3])).toEqual([false, true])
  })

  test('TXN-01 takes frames that came before it in one piece', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await sendPlain(space, 'from', 'x')
    const delivery = await client.receive('from')
    const id = await client.declare()
    client.raw.write(
      client.sending('to', message('y'), id),
      client.disposing(delivery, id, { settled: true }),
      client.discharge(id, false),
    )
    while (outcomeOf(await client.raw.next(DISPOSITION))[0] !== ACCEPTED);
    await expect.poll(() => bodies(space, 'to')).toEqual(['y'])
    expect(await bodies(space, 'from')).toEqual([])
  })

  test('TXN-01 of nothing is accepted', async () => {
    await using both = await twoQueues()
    const { client } = both
    expect(outcomeOf(await client.commit(await client.declare()))).toEqual([ACCEPTED])
  })

  test('TXN-02 settles with each outcome, and applies rules, forwards and duplicate detection', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await space.broker.createQueue('once', { requiresDuplicateDetection: true })
    await space.broker.createTopic('events')
    await space.broker.createSubscription({ topic: 'events', subscription: 'all' })
    await space.broker.createSubscription(
      { topic: 'events', subscription: 'none' },
      { rules: [{ name: 'never', filter: false }] },
    )
    await space.broker.createQueue('onward', { forwardTo: 'to' })
    await sendPlain(space, 'from', 'dead', 'back')
    const [dead, back] = [await client.receive('from'), await client.receive('from')]
    await client.openSender('events')
    await client.openSender('onward')
    await client.openSender('once')
    const id = await client.declare()
    await client.dispose(dead, id, OUTCOMES.rejected)
    await client.dispose(back, id, OUTCOMES.released)
    await client.send('events', 'e', id)
    await client.send('onward', 'o', id)
    const twice = rhea.message.encode({ message_id: 'one', body: 'd' })
    client.raw.write(client.sending('once', twice, id), client.sending('once', twice, id))
    expect(outcomeOf(await client.commit(id))).toEqual([ACCEPTED])
    const count = async (path: string): Promise<number> => (await bodies(space, path)).length
    expect(await count('from/$DeadLetterQueue')).toBe(1)
    expect(await bodies(space, 'from')).toEqual(['back'])
    expect(await count('events/Subscriptions/all')).toBe(1)
    expect(await count('events/Subscriptions/none')).toBe(0)
    await expect.poll(() => bodies(space, 'to')).toEqual(['o'])
    expect(await count('once')).toBe(1)
  })
})

describe('nothing is done', () => {
  test('TXN-03 after a rollback; what was settled is still locked, and can be settled again', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await sendPlain(space, 'from', 'x')
    const delivery = await client.receive('from')
    const id = await client.declare()
    await client.send('to', 'y', id)
    await client.dispose(delivery, id)
    expect(outcomeOf(await client.rollBack(id))).toEqual([ACCEPTED])
    expect(await bodies(space, 'to')).toEqual([])
    expect(await bodies(space, 'from')).toEqual(['x'])
    const another = await client.declare()
    await client.dispose(delivery, another)
    expect(outcomeOf(await client.commit(another))).toEqual([ACCEPTED])
    expect(await bodies(space, 'from')).toEqual([])
  })

  test('TXN-03 after a rollback; what the client has settled for good comes back at once', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await sendPlain(space, 'from', 'x')
    const delivery = await client.receive('from')
    const id = await client.declare()
    client.raw.write(client.disposing(delivery, id, { settled: true }), client.discharge(id, true))
    const receiver = space.broker.createReceiver('from')
    expect(await receiver.receiveMessages(1)).toMatchObject([{ deliveryCount: 1 }])
  })

  test('TXN-03 when the connection is lost', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await sendPlain(space, 'from', 'x')
    const delivery = await client.receive('from')
    const id = await client.declare()
    await client.send('to', 'y', id)
    await client.dispose(delivery, id)
    client.raw.socket.destroy()
    await once(client.raw.socket, 'close')
    await using other = await TransactingClient.open(space.front.port, KEY)
    const answer = await other.commit(id)
    expect(outcomeOf(answer)).toEqual([REJECTED, UNKNOWN])
    expect(await bodies(space, 'to')).toEqual([])
    expect(await bodies(space, 'from')).toEqual(['x'])
  })

  test('TXN-03 when the link to the coordinator ends', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    const id = await client.declare()
    await client.send('to', 'y', id)
    client.detachCoordinator()
    await client.raw.next(DETACH)
    await client.attachCoordinator()
    expect(outcomeOf(await client.send('to', 'z', id))).toEqual([REJECTED, UNKNOWN])
    expect(outcomeOf(await client.commit(id))).toEqual([REJECTED, UNKNOWN])
    expect(await bodies(space, 'to')).toEqual([])
  })

  test('TXN-04 when a lock was lost', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await sendPlain(space, 'from', 'x')
    const delivery = await client.receive('from')
    const id = await client.declare()
    await client.send('to', 'y', id)
    await client.dispose(delivery, id)
    space.clock.jump(61_000)
    const answer = await client.commit(id)
    expect(outcomeOf(answer)).toEqual([REJECTED, ROLLED_BACK])
    expect(reasonOf(answer)).toContain('lock')
    expect(await bodies(space, 'to')).toEqual([])
    expect(await bodies(space, 'from')).toEqual(['x'])
  })

  test('TXN-04 when an entity is full or gone', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    const id = await client.declare()
    await client.send('from', 'x', id)
    await client.send('to', 'y', id)
    await space.broker.deleteQueue('to')
    const answer = await client.commit(id)
    expect(outcomeOf(answer)).toEqual([REJECTED, ROLLED_BACK])
    expect(reasonOf(answer)).toContain("'to'")
    expect(await bodies(space, 'from')).toEqual([])
  })

  test('TXN-04 when something in it was refused', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    const id = await client.declare()
    await client.send('to', 'y', id)
    client.raw.write(client.sending('to', Buffer.from('nonsense'), id))
    expect(outcomeOf(await client.raw.next(DISPOSITION))).toEqual([REJECTED, 'amqp:decode-error'])
    expect(outcomeOf(await client.commit(id))).toEqual([REJECTED, ROLLED_BACK])
    expect(await bodies(space, 'to')).toEqual([])
  })

  test('TXN-05 in a transaction that is none', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await sendPlain(space, 'from', 'x')
    const delivery = await client.receive('from')
    const id = Buffer.from('none')
    expect(outcomeOf(await client.send('to', 'y', id))).toEqual([REJECTED, UNKNOWN])
    expect(outcomeOf(await client.dispose(delivery, id))).toEqual([REJECTED, UNKNOWN])
    expect(outcomeOf(await client.commit(id))).toEqual([REJECTED, UNKNOWN])
    expect(outcomeOf(await client.rollBack(id))).toEqual([REJECTED, UNKNOWN])
    expect(await bodies(space, 'to')).toEqual([])
    expect(await bodies(space, 'from')).toEqual(['x'])
  })

  test('TXN-06 when it takes too long, from what is done first', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    const id = await client.declare()
    space.clock.jump(121_000)
    await client.send('to', 'y', id)
    space.clock.jump(121_000)
    const late = 'amqp:transaction:timeout'
    await expect
      .poll(async () => outcomeOf(await client.send('to', 'z', id)))
      .toEqual([REJECTED, late])
    expect(outcomeOf(await client.commit(id))).toEqual([REJECTED, late])
    expect(await bodies(space, 'to')).toEqual([])
  })

  test('TXN-07 when there are more than 100 messages', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    const id = await client.declare()
    for (let at = 0; at < 100; at++) await client.send('to', 'y', id)
    expect(outcomeOf(await client.send('to', 'one more', id))).toEqual([REJECTED, LIMIT])
    const answer = await client.commit(id)
    expect(outcomeOf(answer)).toEqual([REJECTED, ROLLED_BACK])
    expect(reasonOf(answer)).toContain('100')
    expect(await bodies(space, 'to')).toEqual([])
  })

  test('TXN-07 when the transactions of a connection hold too many bytes', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await space.broker.createQueue('large', { maxMessageSizeInKilobytes: 102_400 })
    await client.openSender('large')
    const payload = Buffer.alloc(60_000, 1)
    const data = value.described(0x75, value.binary(payload))
    const ids: Buffer[] = []
    let refused: Buffer | undefined
    for (let at = 0; at < 12 && refused === undefined; at++) {
      const id = await client.declare()
      ids.push(id)
      client.raw.write(...Array.from({ length: 100 }, () => client.sending('large', data, id)))
      for (let answered = 0; answered < 100;) {
        const answer = await client.raw.next(DISPOSITION)
        answered += Number(answer.fields[2]) - Number(answer.fields[1]) + 1
        const [code, condition] = outcomeOf(answer)
        if (code === REJECTED) expect(condition).toBe(LIMIT)
        if (code === REJECTED) refused = id
      }
    }
    expect(ids).toHaveLength(6)
    expect(outcomeOf(await client.commit(refused!))).toEqual([REJECTED, ROLLED_BACK])
    // What the others hold is given back when they end.
    expect(outcomeOf(await client.rollBack(ids[0]!))).toEqual([ACCEPTED])
    const id = await client.declare()
    client.raw.write(client.sending('large', data, id))
    expect(outcomeOf(await client.raw.next(DISPOSITION))).toEqual([ACCEPTED])
  })
})

test('TXN-08 transactions of one connection do not see each other', async () => {
  await using both = await twoQueues()
  const { space, client } = both
  const [first, second, third] = [
    await client.declare(),
    await client.declare(),
    await client.declare(),
  ]
  await client.send('to', 'a', first)
  await client.send('to', 'b', second)
  await client.send('from', 'c', first)
  await client.send('to', 'd', third)
  expect(outcomeOf(await client.rollBack(first))).toEqual([ACCEPTED])
  expect(outcomeOf(await client.commit(second))).toEqual([ACCEPTED])
  expect(await bodies(space, 'to')).toEqual(['b'])
  expect(await bodies(space, 'from')).toEqual([])
  expect(outcomeOf(await client.commit(third))).toEqual([ACCEPTED])
  expect(await bodies(space, 'to')).toEqual(['b', 'd'])
})

test('TXN-08 of two that settle one message, the first commit counts', async () => {
  await using both = await twoQueues()
  const { space, client } = both
  await sendPlain(space, 'from', 'x')
  const delivery = await client.receive('from')
  const [first, second] = [await client.declare(), await client.declare()]
  await client.dispose(delivery, first)
  await client.dispose(delivery, second)
  await client.send('to', 'y', second)
  expect(outcomeOf(await client.commit(first))).toEqual([ACCEPTED])
  expect(outcomeOf(await client.commit(second))).toEqual([REJECTED, ROLLED_BACK])
  expect(await bodies(space, 'from')).toEqual([])
  expect(await bodies(space, 'to')).toEqual([])
})

describe('over $management', () => {
  test('TXN-09 deferred messages are settled, and messages scheduled and cancelled', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await client.openManagement('from')
    await client.openManagement('to')
    const later = new Date(space.clock.wallMs() + 3_600_000)
    const [old] = await space.broker
      .createSender('to')
      .scheduleMessages({ body: Buffer.from('old') }, later)
    await sendPlain(space, 'from', 'x')
    const receiver = space.broker.createReceiver('from')
    const [received] = await receiver.receiveMessages(1)
    await receiver.deferMessage(received!)
    const [deferred] = await receiver.receiveDeferredMessages(received!.sequenceNumber!)
    const complete = {
      operation: 'update-disposition',
      body: {
        'disposition-status': 'completed',
        'lock-tokens': rhea.types.wrap_array(
          [Buffer.from(deferred!.lockToken!.replaceAll('-', ''), 'hex')],
          0x98,
          undefined,
        ),
      },
    }
    const annotations = {
      'x-opt-scheduled-enqueue-time': rhea.types.wrap_timestamp(later.getTime()),
    }
    const scheduled = rhea.message.encode({
      message_id: 'new',
      message_annotations: annotations,
      body: rhea.message.data_section(Buffer.from('new')),
    })
    const schedule = {
      operation: 'schedule-message',
      body: { messages: [{ 'message-id': 'new', message: scheduled }] },
    }
    const cancel = {
      operation: 'cancel-scheduled-message',
      body: { 'sequence-numbers': rhea.types.wrap_array([old], 0x81, undefined) },
    }
    const id = await client.declare()
    expect(await client.request('from', complete, id)).toMatchObject({ status: 200 })
    const answer = await client.request('to', schedule, id)
    expect(answer).toMatchObject({ status: 200 })
    const [number] = (answer.body as { 'sequence-numbers': number[] })['sequence-numbers']
    expect(await client.request('to', cancel, id)).toMatchObject({ status: 200 })
    expect(await bodies(space, 'from')).toEqual(['x'])
    expect(await bodies(space, 'to')).toEqual(['old'])
    expect(outcomeOf(await client.commit(id))).toEqual([ACCEPTED])
    expect(await bodies(space, 'from')).toEqual([])
    expect(await bodies(space, 'to')).toEqual(['new'])
    // The number that the client was given is that of the message.
    await space.broker.createSender('to').cancelScheduledMessages(number!)
    expect(await bodies(space, 'to')).toEqual([])
  })

  test('TXN-09 the state of a session is set with the settlement of its message', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await space.broker.createQueue('sessions', { requiresSession: true })
    await space.broker.createSender('sessions').sendMessages({ body: 1, sessionId: 's' })
    const delivery = await client.receive('sessions', 's')
    await client.openManagement('sessions')
    const state = rhea.types.wrap_binary(Buffer.from('7'))
    const set = {
      operation: 'set-session-state',
      body: { 'session-id': 's', 'session-state': state },
    }
    const get = { operation: 'get-session-state', body: { 'session-id': 's' } }
    const id = await client.declare()
    await client.dispose(delivery, id)
    expect(await client.request('sessions', set, id)).toMatchObject({ status: 200 })
    expect(await client.request('sessions', get, id)).toMatchObject({
      body: { 'session-state': null },
    })
    expect(outcomeOf(await client.commit(id))).toEqual([ACCEPTED])
    expect(await client.request('sessions', get, await client.declare())).toMatchObject({
      body: { 'session-state': Buffer.from('7') },
    })
    expect(await bodies(space, 'sessions')).toEqual([])
  })

  test('TXN-09 what cannot be taken back is refused, and rolls back', async () => {
    await using both = await twoQueues()
    const { space, client } = both
    await client.openManagement('from')
    const id = await client.declare()
    await client.send('to', 'y', id)
    const request = { operation: 'add-rule', body: { 'rule-name': 'r' } }
    const { status, text } = await client.request('from', request, id)
    expect(status).toBe(501)
    expect(text).toContain('in a transaction')
    expect(outcomeOf(await client.commit(id))).toEqual([REJECTED, ROLLED_BACK])
    const unknown = await client.request('from', request, Buffer.from('none'))
    expect(unknown).toMatchObject({ status: 400 })
    expect(await bodies(space, 'to')).toEqual([])
  })
})

test('TXN-10 a link that sends through an entity sends to the other one', async () => {
  await using both = await twoQueues()
  const { space, client } = both
  const to = value.map(
    value.symbol('com.microsoft:transfer-destination-address'),
    value.string('to'),
  )
  await space.broker.createQueue('through')
  await client.openSender('through', to)
  const id = await client.declare()
  await client.send('through', 'y', id)
  await client.commit(id)
  expect(await bodies(space, 'through')).toEqual([])
  expect(await bodies(space, 'to')).toEqual(['y'])
})

test('a coordinator takes nothing else', async () => {
  await using both = await twoQueues()
  const { client } = both
  client.raw.write(client.control(value.string('hello')))
  const [code, condition] = outcomeOf(await client.raw.next(DISPOSITION))
  expect([code, condition]).toEqual([REJECTED, 'amqp:decode-error'])
  expect(await client.declare()).toHaveLength(16)
})

/** A process that serves a folder, and a client of it. */
async function served(folder: string): Promise<{
  readonly front: CampaignProcess<FrontMessage>
  readonly client: TransactingClient
}> {
  const place = { kind: 'folder', folder, durability: 'sync' } as const
  const front = new CampaignProcess<FrontMessage>(
    new URL('../crash/amqp/front.child.ts', import.meta.url),
    { place, port: 0 } satisfies FrontTask,
  )
  const { port } = await front.receive('listening')
  const client = await TransactingClient.open(port, { name: ROOT.name, key: EMULATOR_ACCESS_KEY })
  await client.openSender('a')
  await client.openSender('b')
  return { front, client }
}

describe('a kill of the server', () => {
  test.each([
    ['before the discharge does nothing', 'before', [[0, 0]]],
    [
      'during it does all or nothing',
      'during',
      [
        [0, 0],
        [1, 1],
      ],
    ],
    ['after it has done all', 'after', [[1, 1]]],
  ] as const)('TXN-01 %s', async (_, when, expected) => {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-transactions-'))
    const place = { kind: 'folder', folder, durability: 'sync' } as const
    try {
      {
        await using store = await openMessagingStore(place)
        await store.broker.createQueue('a')
        await store.broker.createQueue('b')
      }
      const { front, client } = await served(folder)
      await using _front = front
      await using _client = client
      const id = await client.declare()
      await client.send('a', 'x', id)
      await client.send('b', 'y', id)
      if (when === 'after') await client.commit(id)
      else if (when === 'during') client.raw.write(client.discharge(id, false))
      await front.kill()
      await using store = await openMessagingStore(place)
      const counts = await Promise.all(
        ['a', 'b'].map(
          async (path) => (await store.broker.createReceiver(path).peekMessages(9)).length,
        ),
      )
      expect(expected).toContainEqual(counts)
      expect(await store.check()).toEqual([])
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
