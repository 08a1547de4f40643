import {
  FULL_RANGE,
  lsn,
  type DeadLetter,
  type DeadLetterSink,
  type FeedRange,
} from '@tidemark/contracts'
import { changeEpk } from '@tidemark/contracts/internal'
import type { QueueOptions } from '@tidemark/messaging'
import { describe, expect, test } from 'vitest'
import { rejection, type OpenNamespace, type TestedNamespace } from './fixtures.ts'
import type { TestedEntity } from './tested-entity.ts'

const { signal } = new AbortController()

const SETTINGS: QueueOptions = {
  requiresSession: true,
  lockDuration: 30_000,
  requiresDuplicateDetection: true,
  duplicateDetectionHistoryTimeWindow: 'PT1H',
}

/** A letter as a host would put it, of a change of this key. */
function letter(id: string, more: { key?: string | undefined; group?: string } = {}): DeadLetter {
  const { key, group = 'mailers' } = { key: 'k1', ...more }
  const document = { id, _rid: 'r', _self: 's', _etag: 'e', _ts: 1, _lsn: 7, _attachments: '' }
  return {
    id: `0007-${id}`,
    group,
    feed: 'store/1',
    range: FULL_RANGE,
    lsn: lsn(7),
    change: {
      kind: 'document',
      id,
      partitionKey: key,
      lsn: lsn(7),
      committedAtMs: 1_000,
      document: document as never,
    },
    error: { name: 'TypeError', message: 'no total', code: 'ERR_NOT_FOUND', stack: 'at line 1' },
    attempts: 5,
    hostName: 'host-1',
    failedAtMs: 2_000,
  }
}

async function taken(
  sink: DeadLetterSink,
  group = 'mailers',
  range: FeedRange = FULL_RANGE,
): Promise<readonly DeadLetter[]> {
  return (await sink.takeRedriven?.({ group, range, signal })) ?? []
}

function ids(letters: readonly DeadLetter[]): readonly string[] {
  return letters.map(({ change }) => change.id)
}

interface Letters {
  readonly space: TestedNamespace
  readonly queue: TestedEntity
  readonly sink: Required<DeadLetterSink>
  /** Of another host. */
  readonly other: Required<DeadLetterSink>
}

/** A queue as the dead-letter sink of a change feed processor's hosts. */
export function messagingDeadLetterSink(open: OpenNamespace, openAlone: OpenNamespace): void {
  const start = async (
    settings: QueueOptions = {},
    openNamespace: OpenNamespace = open,
  ): Promise<Letters> => {
    const space = await openNamespace()
    const queue = await space.queue('letters', { ...SETTINGS, ...settings })
    const options = { redriveCacheMs: 0 }
    const sink = space.broker.queueDeadLetters('letters', options)
    return { space, queue, sink, other: space.secondBroker().queueDeadLetters('letters', options) }
  }
  const redrive = ({ space }: Letters): Promise<readonly number[]> =>
    space.broker.redriveDeadLetters('letters')
  /** Names of the changes in the queue, and in its dead-letter queue. */
  const places = async ({ queue }: Letters): Promise<readonly string[]> => [
    ...(await queue.peek()).map(({ messageId }) => messageId.slice(5)),
    '/',
    ...(await queue.dead()).map(({ messageId }) => messageId.slice(5)),
  ]

  describe('dead letters of a processor in a queue', () => {
    test('PH-7 a letter stands in the dead-letter queue with the error as reason and description', async () => {
      const letters = await start()
      await letters.sink.put(letter('a'), { signal })
      expect(await places(letters)).toEqual(['/', 'a'])
      expect(await letters.queue.deadOne()).toMatchObject({
        messageId: '0007-a',
        sequenceNumber: 1,
        subject: 'TypeError',
        deadLetterReason: 'TypeError',
        deadLetterErrorDescription: 'no total',
        applicationProperties: {
          group: 'mailers',
          feed: 'store/1',
          lsn: 7,
          id: 'a',
          code: 'ERR_NOT_FOUND',
        },
        body: { id: '0007-a', attempts: 5, change: { kind: 'document', document: { id: 'a' } } },
      })
      expect(await taken(letters.sink)).toEqual([])
    })

    test('PH-7 a letter that comes again is stored once; one that an operator removed is stored again', async () => {
      const letters = await start()
      const { sink, other, queue } = letters
      await sink.put(letter('a'), { signal })
      await sink.put(letter('b'), { signal })
      // The first host was killed before it had stored its position.
      await other.put(letter('a'), { signal })
      expect(await places(letters)).toEqual(['/', 'a', 'b'])
      // It was sent back, and its change failed once more before somebody took it.
      await redrive(letters)
      await other.put(letter('a'), { signal })
      expect(await places(letters)).toEqual(['b', '/', 'a'])
      await queue.drainDead()
      await other.put(letter('a'), { signal })
      expect(await places(letters)).toEqual(['b', '/', 'a'])
    })

    test('PH-7 what is sent back is handed to its group and range, and settled for good', async () => {
      const letters = await start()
      const { sink } = letters
      const keys = ['k1', 'k2', 'k3', 'k4', undefined]
      for (const [n, key] of keys.entries()) await sink.put(letter(`m${n}`, { key }), { signal })
      await sink.put(letter('x', { group: 'others' }), { signal })
      expect(await redrive(letters)).toHaveLength(6)
      const epks = keys.map((key) => changeEpk(letter('m', { key }).change, 2))
      const [, , middle = ''] = epks.toSorted()
      const low = { minInclusive: '', maxExclusive: middle }
      const high = { minInclusive: middle, maxExclusive: 'FF' }
      const inLow = await taken(sink, 'mailers', low)
      const inHigh = await taken(sink, 'mailers', high)
      expect(ids(inLow)).toEqual(['m0', 'm1', 'm2', 'm3', 'm4'].filter((_, n) => epks[n]! < middle))
      expect([...ids(inLow), ...ids(inHigh)].toSorted()).toEqual(['m0', 'm1', 'm2', 'm3', 'm4'])
      for (const one of [...inLow, ...inHigh]) await sink.settle(one, { signal })
      expect(await places(letters)).toEqual(['x', '/'])
      const [x, ...more] = await taken(sink, 'others')
      expect([x, more]).toEqual([letter('x', { group: 'others' }), []])
    })

    test('PH-7 what fails again returns to the dead-letter queue as one letter, with the new reason', async () => {
      const letters = await start()
      const { sink, queue } = letters
      await sink.put(letter('a'), { signal })
      for (const message of ['still no total', 'x'.repeat(5000)]) {
        await redrive(letters)
        const [again] = await taken(sink)
        expect(again).toEqual(letter('a'))
        await sink.put({ ...letter('a'), error: { name: 'RangeError', message } }, { signal })
        expect(await places(letters)).toEqual(['/', 'a'])
        expect(await queue.deadOne()).toMatchObject({
          deadLetterReason: 'RangeError',
          deadLetterErrorDescription: message.slice(0, 4096),
        })
      }
      // It is free for the next host.
      await redrive(letters)
      expect(ids(await taken(letters.other))).toEqual(['a'])
    })

    test('SET-19 one host has a letter at a time; another one gets it when it is given back', async () => {
      const letters = await start()
      const { sink, other } = letters
      await sink.put(letter('a'), { signal })
      await redrive(letters)
      expect(ids(await taken(sink))).toEqual(['a'])
      // Asked again, because its range was read again: the letter in hand.
      expect(ids(await taken(sink))).toEqual(['a'])
      expect(await taken(other)).toEqual([])
      await letters.space.broker.close()
      expect(await taken(other)).toEqual([letter('a')])
      await other.settle(letter('a'), { signal })
    })

    test('SES-15 a letter whose lock ended is settled nevertheless, unless another host has it', async () => {
      const letters = await start()
      const { sink, other, space } = letters
      for (const id of ['a', 'b']) await sink.put(letter(id), { signal })
      await redrive(letters)
      expect(ids(await taken(sink))).toEqual(['a', 'b'])
      // Longer than locks are renewed.
      await space.pass(60_000 + 30_000)
      await sink.settle(letter('a'), { signal })
      expect(ids(await taken(other))).toEqual(['b'])
      await sink.settle(letter('b'), { signal })
      expect(await places(letters)).toEqual(['b', '/'])
      await other.put(letter('b'), { signal })
      expect(await places(letters)).toEqual(['/', 'b'])
      await sink.settle(letter('b'), { signal })
      expect(await places(letters)).toEqual(['/', 'b'])
    })

    test('PH-7 a message that is no letter is passed over, or returns with the reason', async () => {
      const letters = await start()
      const { sink, queue } = letters
      await queue.send({ body: 'mine', sessionId: 's' })
      await queue.send({
        body: 'newer',
        messageId: '0000-newer',
        sessionId: 'n',
        applicationProperties: { group: 'mailers', epk: '' },
      })
      await sink.put(letter('a'), { signal })
      await redrive(letters)
      expect(ids(await taken(sink))).toEqual(['a'])
      expect(await queue.deadOne()).toMatchObject({
        body: 'newer',
        deadLetterReason: 'InvalidDocumentError',
      })
    })

    test('a queue that cannot keep letters is refused by name', async () => {
      const space = await open()
      await space.queue('plain')
      await space.queue('short', { ...SETTINGS, defaultMessageTimeToLive: 1000 })
      await space.topic('t')
      for (const name of ['plain', 'short', 't']) {
        const sink = space.broker.queueDeadLetters(name)
        expect(await rejection(sink.put(letter('a'), { signal }))).toBe('ERR_INVALID_OPTION')
      }
      expect(() =>
        space.broker.queueDeadLetters('plain', { partitionKeyVersion: 3 as never }),
      ).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }))
      const missing = space.broker.queueDeadLetters('none').put(letter('a'), { signal })
      expect(await rejection(missing)).toBe('ERR_MESSAGING_ENTITY_NOT_FOUND')
    })

    test('a letter larger than the queue takes is refused, so that its range waits', async () => {
      const letters = await start({ maxMessageSizeInKilobytes: 1 })
      const large = { ...letter('a'), hostName: 'h'.repeat(2000) }
      const put = letters.sink.put(large, { signal })
      expect(await rejection(put)).toBe('ERR_MESSAGE_SIZE_EXCEEDED')
      expect(await places(letters)).toEqual(['/'])
    })

    test('letters are durable, in whatever place a kill found them', async ({ skip }) => {
      const letters = await start({}, openAlone)
      const { space, sink } = letters
      if (!space.isDurable) skip('this engine is not durable')
      for (const id of ['dead', 'back', 'hand']) await sink.put(letter(id), { signal })
      await space.broker.redriveDeadLetters('letters', { sequenceNumbers: [2, 3] })
      await taken(sink, 'mailers')
      await space.stopNow()
      await space.restart()
      const next = space.broker.queueDeadLetters('letters', { redriveCacheMs: 0 })
      // The lock of what the killed host had in hand ends by itself.
      await space.pass(30_000)
      expect(ids(await taken(next)).toSorted()).toEqual(['back', 'hand'])
      for (const id of ['back', 'hand']) await next.settle(letter(id), { signal })
      const queue = space.entity('letters')
      expect(await places({ ...letters, queue })).toEqual(['/', 'dead'])
    })
  })
}
