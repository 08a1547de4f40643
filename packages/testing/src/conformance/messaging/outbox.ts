import type { MessageSender } from '@tidemark/messaging'
import type { AtomicWrite, Collection } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { BOTH, rejection, type OpenNamespace, type TestedNamespace } from './fixtures.ts'
import { bodies, type TestedEntity } from './tested-entity.ts'

interface Order {
  readonly id: string
  readonly customer: string
  readonly number?: number
}

const RANGE = { minInclusive: '', maxExclusive: 'FF' }
const LONG = { maxWaitTimeInMs: 3_600_000 }
let customers = 0

/** Orders of a customer whom no other test has: tests share a store. */
class TestedOrders {
  readonly collection: Collection<Order>
  readonly customer: string = `customer ${++customers}`

  private constructor(collection: Collection<Order>) {
    this.collection = collection
  }

  static async in(space: TestedNamespace): Promise<TestedOrders> {
    return new TestedOrders(
      await space.database.createCollectionIfNotExists<Order>({
        id: 'orders',
        partitionKey: '/customer',
        uniqueKeys: [['/number']],
      }),
    )
  }

  /** A document, and messages of senders: all of it or nothing. */
  async create(
    id: string,
    messages: readonly ReturnType<MessageSender['outgoing']>[],
    order: Partial<Order> = {},
  ): Promise<void> {
    const { customer, collection } = this
    // Each order has a number that no other has.
    const number = Number.parseInt(id, 36)
    const document = { id, customer, number, ...order }
    await collection.batch(customer, [{ kind: 'create', document }], { messages })
  }

  write(id: string): AtomicWrite {
    const document = { id, customer: this.customer, number: Number.parseInt(id, 36) }
    return { collection: this.collection, operation: { kind: 'put', document } }
  }

  /** Ids of what is there. */
  async ids(): Promise<readonly string[]> {
    const { documents } = await this.collection.readPartition(this.customer)
    return documents.map(({ id }) => id).toSorted()
  }

  /** Ids of what the feed shows of this customer. */
  async fed(): Promise<readonly string[]> {
    const ids: string[] = []
    for await (const { changes } of this.collection.changes({ from: 'beginning', follow: false })) {
      for (const { id, partitionKey } of changes) if (partitionKey === this.customer) ids.push(id)
    }
    return ids.toSorted()
  }
}

async function numbersIn(entity: TestedEntity): Promise<readonly number[]> {
  return (await entity.peek()).map(({ sequenceNumber }) => sequenceNumber)
}

/** Messages that go with a commit of documents: both, or neither. */
export function messagingOutbox(open: OpenNamespace): void {
  describe.each(BOTH)('the outbox of a %s', (kind) => {
    test('a batch that commits sends its messages', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const entity = await space.receiving(kind)
      await orders.create('a', [
        entity.brokerSender.outgoing([{ body: 'one' }, { body: 'two', subject: 's' }]),
      ])
      expect(await orders.ids()).toEqual(['a'])
      expect(await orders.fed()).toEqual(['a'])
      const [one, two] = await entity.receive()
      expect([one?.body, two?.body, two?.subject]).toEqual(['one', 'two', 's'])
      expect(await numbersIn(entity)).toEqual([1, 2])
    })

    test('a batch that is refused sends none, and takes no number', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const entity = await space.receiving(kind)
      const { collection, customer } = orders
      const messages = [entity.brokerSender.outgoing({ body: 'never' })]
      await orders.create('a', [], { number: 7 })
      const refused = [
        () => orders.create('a', messages),
        () => orders.create('b', messages, { number: 7 }),
        () => collection.batch(customer, [{ kind: 'delete', id: 'c' }], { messages }),
        () =>
          collection.batch(
            customer,
            [
              { kind: 'read', id: 'a' },
              { kind: 'delete', id: 'a', ifMatch: '"0"' },
            ],
            { messages },
          ),
      ]
      for (const call of refused) expect(await rejection(call())).toBe('ERR_BATCH_FAILED')
      await orders.create('d', [entity.brokerSender.outgoing({ body: 'first' })])
      expect(bodies(await entity.peek())).toEqual(['first'])
      expect(await numbersIn(entity)).toEqual([1])
    })

    test('a message that is refused writes no document', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const entity = await space.receiving(kind)
      if (kind === 'queue') await space.broker.updateQueue('q', { maxMessageSizeInKilobytes: 1 })
      else await space.broker.updateTopic('t', { maxMessageSizeInKilobytes: 1 })
      const large = entity.brokerSender.outgoing({ body: new Uint8Array(2000) })
      const small = entity.brokerSender.outgoing({ body: 'small' })
      expect(await rejection(orders.create('a', [small, large]))).toBe('ERR_MESSAGE_SIZE_EXCEEDED')
      expect(await orders.ids()).toEqual([])
      expect(await orders.fed()).toEqual([])
      await orders.create('a', [small])
      expect(await orders.fed()).toEqual(['a'])
      expect(await numbersIn(entity)).toEqual([1])
    })

    test('who waits for a message gets it', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const entity = await space.receiving(kind)
      const elsewhere = entity.through(await space.brokerElsewhere())
      const waiting = entity.receiver.receiveMessages(1, LONG)
      await space.settled()
      await orders.create('a', [entity.brokerSender.outgoing({ body: 'here' })])
      const [message] = await waiting
      expect(message?.body).toBe('here')
      await entity.receiver.completeMessage(message ?? {})
      await entity.detach()
      const waitingElsewhere = elsewhere.receiver.receiveMessages(1, LONG)
      await space.settled()
      await orders.create('b', [entity.brokerSender.outgoing({ body: 'elsewhere' })])
      expect(bodies(await waitingElsewhere)).toEqual(['elsewhere'])
    })

    test('SCH-01 a scheduled message is enqueued at its time', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const entity = await space.receiving(kind)
      const at = new Date(space.startMs + 1500)
      await orders.create('a', [
        entity.brokerSender.outgoing({ body: 'later' }, { scheduledEnqueueTimeUtc: at }),
      ])
      await space.at(1499)
      expect(await entity.receive()).toEqual([])
      await space.at(1500)
      expect((await entity.receiveOne()).enqueuedTimeUtc).toEqual(at)
    })
  })

  describe('the outbox', () => {
    test('SET-10 a duplicate is not sent again, and its document is written', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q', { requiresDuplicateDetection: true })
      const outgoing = queue.brokerSender.outgoing({ body: 'once', messageId: 'id' })
      await orders.create('a', [outgoing])
      await orders.create('b', [outgoing, outgoing])
      // What is refused with its commit is no duplicate afterwards.
      const fresh = queue.brokerSender.outgoing({ body: 'fresh', messageId: 'other' })
      expect(await rejection(orders.create('a', [fresh]))).toBe('ERR_BATCH_FAILED')
      await orders.create('c', [fresh])
      expect(await orders.ids()).toEqual(['a', 'b', 'c'])
      expect(bodies(await queue.peek())).toEqual(['once', 'fresh'])
      expect(await numbersIn(queue)).toEqual([1, 2])
    })

    test('SET-20 a full queue keeps the document away, until there is room', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q', { maxSizeInMegabytes: 1 })
      const half = { body: new Uint8Array(250_000) }
      for (let n = 0; n < 4; n++) await queue.send(half)
      const full = queue.brokerSender.outgoing(half)
      expect(await rejection(orders.create('a', [full]))).toBe('ERR_QUOTA_EXCEEDED')
      expect(await orders.fed()).toEqual([])
      const [first] = await queue.receive(1)
      await queue.receiver.completeMessage(first ?? {})
      await orders.create('a', [full])
      expect(await orders.fed()).toEqual(['a'])
      expect(await numbersIn(queue)).toEqual([2, 3, 4, 5])
    })

    test('SES-10 a message without a session for a queue that requires one', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q', { requiresSession: true })
      const without = queue.brokerSender.outgoing({ body: 'a' })
      expect(await rejection(orders.create('a', [without]))).toBe('ERR_MESSAGING_NOT_ALLOWED')
      expect(await orders.ids()).toEqual([])
      await orders.create('a', [queue.brokerSender.outgoing({ body: 'a', sessionId: 's' })])
      expect(bodies(await queue.peek())).toEqual(['a'])
    })

    test('a queue that is disabled, or deleted, refuses', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q')
      await queue.send('before')
      const outgoing = queue.brokerSender.outgoing({ body: 'a' })
      const other = await space.brokerElsewhere()
      await other.updateQueue('q', { status: 'SendDisabled' })
      expect(await rejection(orders.create('a', [outgoing]))).toBe('ERR_MESSAGING_ENTITY_DISABLED')
      await other.deleteQueue('q')
      expect(await rejection(orders.create('a', [outgoing]))).toBe('ERR_MESSAGING_ENTITY_NOT_FOUND')
      expect(await orders.fed()).toEqual([])
      await other.createQueue('q')
      await orders.create('a', [outgoing])
      expect(bodies(await queue.peek())).toEqual(['a'])
    })

    test('when the second of two refuses, the first gets nothing', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const one = await space.queue('one')
      const two = await space.queue('two', { requiresSession: true })
      const three = await space.queue('three')
      const [toOne, toThree] = [one, three].map(({ brokerSender }) =>
        brokerSender.outgoing({ body: 'x' }),
      )
      if (toOne === undefined || toThree === undefined) throw new Error('two were made')
      const toTwo = two.brokerSender.outgoing({ body: 'x' })
      expect(await rejection(orders.create('a', [toThree, toTwo, toOne]))).toBe(
        'ERR_MESSAGING_NOT_ALLOWED',
      )
      expect(await orders.fed()).toEqual([])
      expect([await one.peek(), await two.peek(), await three.peek()]).toEqual([[], [], []])
      expect(await one.sizeInBytes()).toBe(0)
      await orders.create('a', [toThree, toOne, toThree])
      expect([await numbersIn(one), await numbersIn(three)]).toEqual([[1], [1, 2]])
    })

    test('TOP-07 rules that another broker has changed meanwhile are judged again', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const topic = await space.topic('t')
      const copy = await space.subscription('t', 's', {
        rules: [{ name: 'all', filter: { sqlExpression: '1 = 1' } }],
      })
      await orders.create('a', [topic.brokerSender.outgoing({ body: 'all' })])
      const other = await space.brokerElsewhere()
      await other.deleteRule({ topic: 't', subscription: 's' }, 'all')
      await other.createRule(
        { topic: 't', subscription: 's' },
        { name: 'red', filter: { sqlExpression: `colour = 'red'` } },
      )
      const coloured = (colour: string) =>
        topic.brokerSender.outgoing({ body: colour, applicationProperties: { colour } })
      await orders.create('b', [coloured('blue'), coloured('red')])
      expect(bodies(await copy.peek())).toEqual(['all', 'red'])
      expect(await orders.ids()).toEqual(['a', 'b'])
    })

    test('what is due is applied before, however much it is', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q')
      const at = new Date(space.startMs + 1000)
      const many = Array.from({ length: 450 }, (_, n) => ({ body: n }))
      await queue.sender.scheduleMessages(many, at)
      await space.at(1000)
      await orders.create('a', [queue.brokerSender.outgoing({ body: 'last' })])
      expect(await orders.ids()).toEqual(['a'])
      const messages = await queue.receive()
      expect(messages).toHaveLength(451)
      expect(messages.at(-1)?.body).toBe('last')
    })

    test('LE-11 a fence that refuses the commit refuses its messages', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q')
      const commit = (id: string, epoch: number) =>
        space.database.commitAtomically([orders.write(id), orders.write(id)], {
          messages: [queue.brokerSender.outgoing({ body: id })],
          fence: { job: orders.customer, range: RANGE, epoch },
        })
      await commit('a', 2)
      expect(await rejection(commit('b', 1))).toBe('ERR_FENCED_WRITE')
      await commit('c', 2)
      expect(await orders.ids()).toEqual(['a', 'c'])
      expect(bodies(await queue.peek())).toEqual(['a', 'c'])
      expect(await numbersIn(queue)).toEqual([1, 2])
    })

    test('a fence is not raised by a commit whose message is refused', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q', { requiresSession: true })
      const commit = (epoch: number, sessionId?: string) =>
        space.database.commitAtomically([orders.write('a')], {
          messages: [queue.brokerSender.outgoing({ body: epoch, sessionId })],
          fence: { job: orders.customer, range: RANGE, epoch },
        })
      expect(await rejection(commit(2))).toBe('ERR_MESSAGING_NOT_ALLOWED')
      await commit(1, 's')
      expect(bodies(await queue.peek())).toEqual([1])
    })

    test('SET-13 what forwards goes on by itself', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const target = await space.queue('target')
      const source = await space.queue('source', { forwardTo: 'target' })
      await orders.create('a', [source.brokerSender.outgoing({ body: 'a' })])
      await space.settled()
      // A look brings nothing, as a peek would.
      const engine = await space.database.openMessages()
      const { entities } = await engine.readCatalog()
      const number = entities.find(({ path }) => path === 'target')?.number ?? 0
      expect(await engine.look([number])).toMatchObject([{ hasReady: true }])
      expect(bodies(await target.peek())).toEqual(['a'])
    })

    test('SET-15 senders and brokers that are closed refuse', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q')
      const sender = space.broker.createSender('q')
      const outgoing = sender.outgoing({ body: 'a' })
      await sender.close()
      expect(() => sender.outgoing({ body: 'b' })).toThrow('closed')
      expect(await rejection(orders.create('a', [outgoing]))).toBe('ERR_LINK_CLOSED')
      const other = space.secondBroker()
      const ofOther = other.createSender('q').outgoing({ body: 'c' })
      await other.close()
      expect(await rejection(orders.create('a', [ofOther]))).toBe('ERR_LINK_CLOSED')
      expect(await orders.ids()).toEqual([])
      expect(await queue.peek()).toEqual([])
    })

    test('messages of another database, and what are none, are refused', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q')
      const outgoing = queue.brokerSender.outgoing({ body: 'a' })
      const elsewhere = await space.store.createDatabaseIfNotExists('elsewhere')
      const others = await elsewhere.createCollectionIfNotExists<Order>({
        id: 'orders',
        partitionKey: '/customer',
      })
      const document = { id: 'a', customer: orders.customer }
      const calls: readonly (() => Promise<unknown>)[] = [
        () =>
          others.batch(document.customer, [{ kind: 'create', document }], { messages: [outgoing] }),
        // @ts-expect-error -- as a program without types would
        () => orders.create('a', [{ body: 'a' }]),
        () =>
          orders.collection.batch(orders.customer, [{ kind: 'create', document }], {
            // @ts-expect-error -- misspelt
            message: [outgoing],
          }),
      ]
      for (const call of calls) expect(await rejection(call())).toBe('ERR_INVALID_OPTION')
      expect(await queue.peek()).toEqual([])
      expect(await orders.ids()).toEqual([])
    })

    test('of commits at once, those whose message is refused take nothing of the others back', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q', { requiresSession: true })
      const ids = Array.from({ length: 20 }, (_, n) => `o${n + 10}`)
      const outcomes = await Promise.all(
        ids.map((body, n) => {
          const sessionId = n % 4 === 1 ? undefined : 's'
          return rejection(orders.create(body, [queue.brokerSender.outgoing({ body, sessionId })]))
        }),
      )
      const sent = ids.filter((_, n) => n % 4 !== 1)
      expect(outcomes.map((code) => code === 'none')).toEqual(ids.map((_, n) => n % 4 !== 1))
      expect(await orders.fed()).toEqual(sent)
      expect(
        bodies(await queue.peek())
          .map(String)
          .toSorted(),
      ).toEqual(sent)
      expect(await numbersIn(queue)).toEqual(sent.map((_, n) => n + 1))
    })

    test('TMP-05 TMP-10 a commit with messages is an activity, successful or not', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const p = 90_000
      const queue = await space.queue('q', { autoDeleteOnIdle: p, requiresSession: true })
      const outgoing = (sessionId?: string) => [
        queue.brokerSender.outgoing({ body: 'a', sessionId }),
      ]
      await space.at(0.6 * p)
      await orders.create('a', outgoing('s'))
      await space.at(1.2 * p)
      expect(await rejection(orders.create('b', outgoing()))).toBe('ERR_MESSAGING_NOT_ALLOWED')
      await space.at(1.8 * p)
      expect(bodies(await queue.peek())).toEqual(['a'])
      await space.at(3 * p)
      expect(await rejection(orders.create('c', outgoing('s')))).toBe(
        'ERR_MESSAGING_ENTITY_NOT_FOUND',
      )
      expect(await orders.ids()).toEqual(['a'])
    })

    test('SET-18 commits with messages leave no gap among sends, whoever does it', async () => {
      const space = await open()
      const orders = await TestedOrders.in(space)
      const queue = await space.queue('q')
      const second = await space.queue('r')
      const elsewhere = queue.through(await space.brokerElsewhere())
      const ids = Array.from({ length: 50 }, (_, n) => `o${n}`)
      const outcomes = await Promise.all(
        ids.map(async (id, n) => {
          // Every fifth is refused.
          const document = n % 5 === 0 ? 'taken' : id
          const messages = [queue, second].map(({ brokerSender }) =>
            brokerSender.outgoing({ body: id }),
          )
          if (n % 2 === 0) messages.reverse()
          await elsewhere.send(`sent ${id}`)
          return rejection(orders.create(document, messages))
        }),
      )
      const written = await orders.ids()
      expect(written).toHaveLength(41)
      expect(outcomes.filter((code) => code === 'ERR_BATCH_FAILED')).toHaveLength(9)
      expect(await orders.fed()).toEqual(written)
      expect(await numbersIn(queue)).toEqual(Array.from({ length: 91 }, (_, n) => n + 1))
      expect(await numbersIn(second)).toEqual(Array.from({ length: 41 }, (_, n) => n + 1))
      const sent = bodies(await second.peek()).map(String)
      const kept = sent.filter((id) => !written.includes(id))
      // Of those that wrote the one document that was wanted several times.
      expect(kept).toHaveLength(1)
    })
  })
}
