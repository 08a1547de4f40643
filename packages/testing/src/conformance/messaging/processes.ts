import { describe, expect, test } from 'vitest'
import { rejection, type OpenNamespace } from './fixtures.ts'
import { bodies, receiveNow, sortedBodies, type TestedEntity } from './tested-entity.ts'

const LONG = { maxWaitTimeInMs: 3_600_000 }

/** Brokers of several processes, if the engine can; else two in one. */
export function messagingProcesses(open: OpenNamespace): void {
  /** Completes what it gets until there is nothing more, and gives the bodies. */
  const consume = async (entity: TestedEntity): Promise<readonly string[]> => {
    const got: string[] = []
    for (;;) {
      const messages = await entity.receive(7)
      if (messages.length === 0) return got
      for (const message of messages) {
        await entity.receiver.completeMessage(message)
        got.push(String(message.body))
      }
    }
  }

  describe('several brokers', () => {
    test('SET-21 who waits in one gets what another one sends', async () => {
      const space = await open()
      const queue = await space.queue('q')
      const elsewhere = queue.through(await space.brokerElsewhere())
      const waiting = elsewhere.receiver.receiveMessages(1, LONG)
      await space.settled()
      await queue.send('a')
      const messages = await waiting
      expect(bodies(messages)).toEqual(['a'])
      await queue.receiver.completeMessage(messages[0] ?? {})
      expect(await elsewhere.peek()).toEqual([])
    })

    test('SET-19 receivers that compete share no message and miss none', async () => {
      const space = await open()
      const queue = await space.queue('q')
      const elsewhere = queue.through(await space.brokerElsewhere())
      const names = Array.from({ length: 150 }, (_, n) => `m${n}`)
      await queue.send(...names)
      const shares = await Promise.all([
        consume(queue),
        consume(elsewhere),
        consume(queue.through(space.secondBroker())),
      ])
      expect(shares.flat().toSorted()).toEqual(names.toSorted())
      expect(await queue.places()).toEqual({ here: [], dead: [] })
    })

    test('SET-18 numbers rise without gaps whoever sends', async () => {
      const space = await open()
      const queue = await space.queue('q')
      const elsewhere = queue.through(await space.brokerElsewhere())
      await Promise.all(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? queue : elsewhere).send(`${n}`, 'x')),
      )
      const numbers = (await queue.peek()).map(({ sequenceNumber }) => sequenceNumber)
      expect(numbers).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
    })

    test('SES-11 SES-12 a session is held once, and is free when it is released', async () => {
      const space = await open()
      const queue = await space.queue('q', { requiresSession: true })
      const elsewhere = queue.through(await space.brokerElsewhere())
      await queue.send({ body: 'a', sessionId: 'A' })
      const held = await queue.accept('A')
      expect(await rejection(elsewhere.accept('A'))).toBe('ERR_SESSION_CANNOT_BE_LOCKED')
      const waiting = elsewhere.acceptNext(LONG.maxWaitTimeInMs)
      await space.settled()
      await held.close()
      const next = await waiting
      expect(bodies(await receiveNow(next))).toEqual(['a'])
    })

    test('TOP-07 rules that one broker changes hold for the sends of the other', async () => {
      const space = await open()
      await space.topic('t')
      const copy = await space.subscription('t', 's')
      const elsewhere = copy.through(await space.brokerElsewhere())
      await elsewhere.send('a')
      await space.broker.deleteRule({ topic: 't', subscription: 's' }, '$Default')
      await elsewhere.send('b')
      expect(bodies(await elsewhere.peek())).toEqual(['a'])
    })

    test('TMP-12 who waits learns that the other broker has deleted the queue', async () => {
      const space = await open()
      const queue = await space.queue('q')
      const elsewhere = queue.through(await space.brokerElsewhere())
      const waiting = rejection(elsewhere.receiver.receiveMessages(1, LONG))
      await space.settled()
      await space.broker.deleteQueue('q')
      expect(await waiting).toBe('ERR_MESSAGING_ENTITY_NOT_FOUND')
      await space.queue('q')
      await elsewhere.detach()
      await elsewhere.send('a')
      expect(bodies(await queue.peek())).toEqual(['a'])
    })

    test('TMP-05 a receiver that waits in one keeps the queue for the other', async () => {
      const space = await open()
      const p = 90_000
      const queue = await space.queue('q', { autoDeleteOnIdle: p })
      const elsewhere = queue.through(await space.brokerElsewhere())
      const waiting = elsewhere.receiver.receiveMessages(1, LONG)
      await space.settled()
      await space.at(2.5 * p)
      await queue.send('a')
      expect(bodies(await waiting)).toEqual(['a'])
    })

    test('SET-13 either broker forwards, and each message once', async () => {
      const space = await open()
      const target = await space.queue('target')
      const source = await space.queue('source', { forwardTo: 'target' })
      const broker = await space.brokerElsewhere()
      const names = Array.from({ length: 30 }, (_, n) => `m${n}`)
      await Promise.all(
        names.map((name, n) => (n % 2 === 0 ? source : source.through(broker)).send(name)),
      )
      await Promise.all([target.receive(1), target.through(broker).receive(1)])
      await target.detach()
      await space.settled()
      expect(sortedBodies(await target.peek())).toEqual(names.toSorted())
    })
  })
}
