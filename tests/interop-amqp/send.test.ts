import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { bodies, only, receive, sortedBodies } from './client-entity.ts'
import { codeOf, Namespace } from './interop-amqp.fixture.ts'

const KB = 1024
/** Does not shrink, whatever is done to it. */
const noise = (bytes: number): Buffer => randomBytes(bytes)

describe('Sending', () => {
  test('SET-20 the limit of an entity without one is a mebibyte', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    expect((await queue.sender.createMessageBatch()).maxSizeInBytes).toBe(KB * KB)
  })

  test('SET-20 the sender goes on after a message that was too large', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ maxMessageSizeInKilobytes: 64 })
    expect(await codeOf(queue.send({ body: noise(100 * KB) }))).toBe('MessageSizeExceeded')
    await queue.send('a')
    expect(bodies(await queue.peek())).toEqual(['a'])
  })

  test('SET-20 of sends at once, those that are refused are told, and the others stored', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue({ requiresSession: true })
    const ends = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const body = `m${String(index).padStart(2, '0')}`
        const sent = queue.send(index % 2 === 0 ? { body, sessionId: 's' } : { body })
        return sent.then(
          () => body,
          () => 'refused',
        )
      }),
    )
    const stored = ends.filter((end) => end !== 'refused')
    expect(stored).toHaveLength(10)
    expect(sortedBodies(await queue.peek())).toEqual(stored)
  })

  test('SET-20 a message of nearly a mebibyte arrives over many frames, unchanged', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const body = noise(1000 * KB)
    await queue.send({ body })
    const message = await receive(queue.open({ skipParsingBodyAsJson: true }), 1)
    expect(body.equals(only(message).body)).toBe(true)
  })

  test('SET-17 messages of a batch differ from each other as they were sent', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    await queue.send(
      { body: 'a', subject: 'first', applicationProperties: { n: 1 }, messageId: 'id-a' },
      { body: 'b', correlationId: 'c', applicationProperties: { m: true } },
      { body: 'c', timeToLive: 60_000 },
    )
    const seen = (await queue.peek()).map(
      ({ body, subject, messageId, correlationId, timeToLive }) => [
        String(body),
        subject,
        messageId === 'id-a',
        correlationId,
        timeToLive,
      ],
    )
    expect(seen).toEqual([
      ['a', 'first', true, undefined, undefined],
      ['b', undefined, false, 'c', undefined],
      ['c', undefined, false, undefined, 60_000],
    ])
    expect((await queue.peek()).map(({ applicationProperties }) => applicationProperties)).toEqual([
      { n: 1 },
      { m: true },
      undefined,
    ])
  })

  test('SET-18 five hundred single sends without waiting arrive once each', async () => {
    await using space = await Namespace.open()
    const queue = await space.queue()
    const sent = Array.from({ length: 500 }, (_, index) => `m${index}`)
    await Promise.all(sent.map((body) => queue.send(body)))
    expect(sortedBodies(await queue.peek())).toEqual(sent.toSorted())
  })
})
