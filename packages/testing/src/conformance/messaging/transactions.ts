import type { MessageBroker, ReceivedMessage } from '@tidemark/messaging'
import type { NewMessage, Outcome, TransactionStep } from '@tidemark/messaging/front'
import { describe, expect, test } from 'vitest'
import { rejection, type OpenNamespace } from './fixtures.ts'
import { bodies, type TestedEntity } from './tested-entity.ts'

/** More ends of locks than one transaction of the store applies. */
const MANY_ENDED = 450

function message(text: string, options: Partial<NewMessage> = {}): NewMessage {
  return {
    head: JSON.stringify({ messageId: text, bodyKind: 'data' }),
    body: new TextEncoder().encode(text),
    bytes: text.length,
    messageId: text,
    session: undefined,
    ttlMs: undefined,
    scheduledMs: undefined,
    copies: [],
    ...options,
  }
}

function send(path: string, ...texts: readonly string[]): TransactionStep {
  return { kind: 'send', path, messages: texts.map((text) => message(text)) }
}

function settle(
  path: string,
  { lockToken: token = '' }: ReceivedMessage,
  outcome: Outcome = { kind: 'complete' },
): TransactionStep {
  return { kind: 'settle', path, disposition: { token, outcome } }
}

const DEAD: Outcome = {
  kind: 'deadLetter',
  changes: undefined,
  reason: 'r',
  description: undefined,
}

async function texts(entity: TestedEntity): Promise<readonly string[]> {
  const found = await entity.peek()
  return found.map(({ messageId }) => String(messageId))
}

async function numbers(entity: TestedEntity): Promise<readonly number[]> {
  return (await entity.peek()).map(({ sequenceNumber }) => sequenceNumber)
}

function commit(broker: MessageBroker, ...steps: readonly TransactionStep[]): Promise<void> {
  return broker.front().commit(steps)
}

/** What a client does in a transaction: all of it in one commit, or nothing. */
export function messagingTransactions(open: OpenNamespace): void {
  describe('a transaction', () => {
    test('TXN-01 sends, settles and cancels in several entities', async () => {
      const space = await open()
      const [a, b] = [await space.queue('a'), await space.queue('b')]
      await space.topic('t')
      const copy = await space.subscription('t', 's')
      await a.send({ body: 1, messageId: 'one' }, { body: 2, messageId: 'two' })
      const [one, two] = await a.receive(2)
      const later = new Date(space.startMs + 3_600_000)
      const [number = 0] = await b.brokerSender.scheduleMessages({ body: 'later' }, later)
      await commit(
        space.broker,
        send('B', 'x'),
        settle('a', one!),
        settle('a', two!, { kind: 'abandon', changes: undefined }),
        { kind: 'cancel', path: 'b', numbers: [number] },
        send('t', 'y'),
        send('a', 'z'),
        send('b', 'w'),
      )
      expect(await texts(a)).toEqual(['two', 'z'])
      expect(await texts(b)).toEqual(['x', 'w'])
      expect(await texts(copy)).toEqual(['y'])
    })

    test('TXN-04 does nothing when a lock was lost, and takes no number', async () => {
      const space = await open()
      const [a, b] = [await space.queue('a'), await space.queue('b')]
      await a.send({ body: 1, messageId: 'one' }, { body: 2, messageId: 'two' })
      const [one, two] = await a.receive(2)
      await a.receiver.completeMessage(two!)
      const refused = commit(space.broker, send('b', 'x'), settle('a', one!), settle('a', two!))
      expect(await rejection(refused)).toBe('ERR_MESSAGE_LOCK_LOST')
      expect(await texts(b)).toEqual([])
      await a.receiver.completeMessage(one!)
      await commit(space.broker, send('b', 'y'))
      expect(await numbers(b)).toEqual([1])
    })

    test('TXN-04 does nothing when a queue is full, unless what it settles makes room', async () => {
      const space = await open()
      const [a, full] = [await space.queue('a'), await space.queue('f', { maxSizeInMegabytes: 1 })]
      const half = { body: new Uint8Array(250_000) }
      for (let n = 0; n < 4; n++) await full.send(half)
      const [first] = await full.receive(1)
      const large = message('large', { body: new Uint8Array(200_000), bytes: 200_000 })
      const steps = [send('a', 'x'), { kind: 'send', path: 'f', messages: [large] }] as const
      expect(await rejection(commit(space.broker, ...steps))).toBe('ERR_QUOTA_EXCEEDED')
      expect(await texts(a)).toEqual([])
      await commit(space.broker, ...steps, settle('f', first!))
      expect(await texts(a)).toEqual(['x'])
      expect(await numbers(full)).toEqual([2, 3, 4, 5])
    })

    test('TXN-01 is done when more is due in an entity than one commit applies', async () => {
      const space = await open()
      const queue = await space.queue('q', { lockDuration: 'PT30S' })
      const b = await space.queue('b')
      for (let n = 0; n < MANY_ENDED; n += 50) {
        await queue.send(...Array.from({ length: 50 }, (_, at) => `m${n + at}`))
      }
      expect(await queue.receive(MANY_ENDED)).toHaveLength(MANY_ENDED)
      await queue.send('last')
      await space.pass(29_000)
      const [last] = await queue.receive(1)
      await space.clock.advance(1_500)
      await commit(space.broker, settle('q', last!), send('b', 'x'))
      expect(await queue.peek()).toHaveLength(MANY_ENDED)
      expect(await texts(b)).toEqual(['x'])
    })

    test('TXN-01 gives each message of a dead-letter queue a number, whatever put it there', async () => {
      const space = await open()
      await space.topic('t')
      const copy = await space.subscription('t', 's', {
        deadLetteringOnFilterEvaluationExceptions: true,
      })
      await copy.send('old')
      const [old] = await copy.receive(1)
      await space.broker.createRule(
        { topic: 't', subscription: 's' },
        { name: 'r', filter: { sqlExpression: '1 / 0 = 1' } },
      )
      await space.broker.deleteRule({ topic: 't', subscription: 's' }, '$Default')
      await commit(space.broker, send('t', 'new'), settle('t/Subscriptions/s', old!, DEAD))
      const dead = await copy.dead()
      expect(dead.map(({ sequenceNumber }) => sequenceNumber)).toEqual([1, 2])
    })

    test('TXN-09 a scheduled message keeps the number that was reserved until its instant', async () => {
      const space = await open()
      const queue = await space.queue('q')
      const [first = 0, second = 0] = await space.broker.front().reserveNumbers('q', 2)
      expect([first, second]).toEqual([1, 2])
      await queue.send('plain')
      const scheduledMs = space.startMs + 60_000
      const later = message('later', { number: second, scheduledMs })
      await commit(space.broker, { kind: 'send', path: 'q', messages: [later] })
      expect(await numbers(queue)).toEqual([2, 3])
      await space.at(60_000)
      expect(bodies(await queue.receive())).toHaveLength(2)
      expect(await numbers(queue)).toEqual([3, 4])
    })

    test('TXN-09 sets the state of a session, and fails with its lock', async () => {
      const space = await open()
      const queue = await space.queue('q', { requiresSession: true })
      const state = new TextEncoder().encode('7')
      const { signal } = new AbortController()
      const front = space.broker.front()
      const accept = { mode: 'peekLock', sessionId: 's', maxWaitMs: 0, signal } as const
      const { link, held } = await front.acceptSession('q', accept)
      const setState = { kind: 'setSessionState', path: 'q', hold: held.hold, state } as const
      const inSession = { ...send('q'), messages: [message('x', { session: 's' })] }
      await commit(space.broker, setState, inSession)
      expect(await held.readState()).toEqual(state)
      await link.close()
      expect(await rejection(commit(space.broker, setState, inSession))).toBe(
        'ERR_SESSION_LOCK_LOST',
      )
      expect(await texts(queue)).toEqual(['x'])
    })
  })
}
