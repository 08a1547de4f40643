import { FULL_RANGE, type StartPosition } from '@tidemark/contracts'
import type { DeadLetterFeed } from '@tidemark/messaging'
import { describe, expect, test } from 'vitest'
import { BOTH, rejection, type OpenNamespace, type TestedNamespace } from './fixtures.ts'
import type { TestedEntity } from './tested-entity.ts'

const range = FULL_RANGE
const { signal } = new AbortController()

/** What a reader gets from a start on, to the end, in pages of two. */
async function readAll(
  feed: DeadLetterFeed,
  start: StartPosition,
): Promise<{ readonly bodies: readonly unknown[]; readonly continuation: string }> {
  const bodies: unknown[] = []
  let { continuation } = await feed.resolveStart({ range, start })
  for (let isCaughtUp = false; !isCaughtUp;) {
    const page = await feed.readPage({ range, continuation, maxItemCount: 2 })
    expect(page.changes.length).toBeLessThanOrEqual(2)
    for (const change of page.changes) {
      bodies.push(change.kind === 'document' ? change.document.message.body : change)
    }
    continuation = page.continuation
    isCaughtUp = page.caughtUp
  }
  return { bodies, continuation }
}

async function bury(queue: TestedEntity, ...names: readonly string[]): Promise<void> {
  await queue.send(...names)
  await using receiver = queue.attach()
  for (const message of await receiver.receiveMessages(names.length, { maxWaitTimeInMs: 0 })) {
    await receiver.deadLetterMessage(message, { deadLetterReason: 'mine' })
  }
}

/** Dead letters of an entity, read as a change feed. */
export function messagingDeadLetterFeed(open: OpenNamespace, openAlone: OpenNamespace): void {
  const expiring = { deadLetteringOnMessageExpiration: true }
  const start = async (): Promise<{ space: TestedNamespace; queue: TestedEntity }> => {
    const space = await open()
    return { space, queue: await space.queue('q', expiring) }
  }

  describe('dead letters as a feed', () => {
    test.each(BOTH)('EXP-16 messages of a %s that expire come in their order', async (kind) => {
      const space = await open()
      const entity = await space.receiving(kind, expiring)
      const feed = space.broker.deadLetterFeed(entity.name)
      await entity.send(
        { body: 'late', messageId: 'm1', timeToLive: 9000 },
        { body: 'early', messageId: 'm2', sessionId: 's', timeToLive: 1000 },
        'stays',
      )
      expect((await readAll(feed, 'beginning')).bodies).toEqual([])
      // Nobody listens yet (EXP-04).
      await space.at(20_500)
      expect((await readAll(feed, 'beginning')).bodies).toEqual([])
      await entity.receive()
      const { continuation } = await feed.resolveStart({ range, start: 'beginning' })
      const page = await feed.readPage({ range, continuation })
      const diedAtMs = space.startMs + 20_500
      expect(page).toMatchObject({ lsn: 2, caughtUp: true })
      expect(page.changes).toEqual([
        expect.objectContaining({
          kind: 'document',
          id: '1',
          lsn: 1,
          partitionKey: 's',
          committedAtMs: diedAtMs,
          document: expect.objectContaining({
            id: '1',
            entityPath: `${kind === 'queue' ? 'q' : 't/Subscriptions/s'}/$DeadLetterQueue`,
            reason: 'TTLExpiredException',
            description: 'The message expired and was dead lettered.',
            deadLetteredAtMs: diedAtMs,
            message: expect.objectContaining({ body: 'early', messageId: 'm2' }),
            _lsn: 1,
          }),
        }),
        expect.objectContaining({ lsn: 2, partitionKey: 'm1' }),
      ])
      // Reading has taken nothing.
      expect(await entity.dead()).toHaveLength(2)
    })

    test('CF-6 a reader starts at the beginning, now, at a second, or where it was', async () => {
      const { space, queue } = await start()
      const feed = space.broker.deadLetterFeed('q')
      // At the beginning of a second.
      await space.pass(1000 - (space.clock.wallMs() % 1000))
      space.start()
      await bury(queue, 'a', 'b', 'c')
      await space.at(5_400)
      await bury(queue, 'd', 'e')
      const middle = await readAll(feed, 'now')
      await space.at(9_000)
      await bury(queue, 'f')
      const from = async (at: StartPosition): Promise<string> =>
        (await readAll(feed, at)).bodies.join('')
      const second = (s: number): Date => new Date(space.startMs + s * 1000)
      expect(await from('beginning')).toBe('abcdef')
      expect(await from('now')).toBe('')
      expect(await from({ continuation: middle.continuation })).toBe('f')
      expect(await from(second(0))).toBe('abcdef')
      expect(await from(second(1))).toBe('def')
      expect(await from(second(5.9))).toBe('def')
      expect(await from(second(6))).toBe('f')
      expect(await from(second(100))).toBe('')
      const { continuation } = await feed.resolveStart({ range, start: second(100) })
      await bury(queue, 'g')
      expect((await readAll(feed, { continuation })).bodies).toEqual(['g'])
    })

    test('CF-8 what was removed before it was read does not come, and holds nobody up', async () => {
      const { space, queue } = await start()
      const feed = space.broker.deadLetterFeed('q')
      await bury(queue, 'a', 'b', 'c', 'd', 'e')
      await space.broker.redriveDeadLetters('q', { sequenceNumbers: [1, 3, 5] })
      expect(await readAll(feed, 'beginning')).toMatchObject({ bodies: ['b', 'd'] })
      await queue.drainDead()
      const { continuation } = await feed.resolveStart({ range, start: 'beginning' })
      const page = await feed.readPage({ range, continuation })
      expect(page).toMatchObject({ changes: [], lsn: 5, caughtUp: true })
      await bury(queue, 'f', 'g')
      expect((await readAll(feed, page)).bodies.length).toBeGreaterThan(1)
    })

    test('a reader of a part of the keys gets those, and its lag counts no others', async () => {
      const { space, queue } = await start()
      const feed = space.broker.deadLetterFeed('q')
      const names = Array.from({ length: 20 }, (_, n) => `m${n}`)
      await bury(queue, ...names)
      const lag = async (part = range, limit?: number): Promise<unknown> => {
        const { continuation } = await feed.resolveStart({ range: part, start: 'beginning' })
        return feed.measureLag({ range: part, continuation, limit })
      }
      const oldestChangeMs = space.startMs
      expect(await lag()).toEqual({
        newestLsn: 20,
        remainingChanges: 20,
        isExact: true,
        oldestChangeMs,
      })
      expect(await lag(range, 7)).toMatchObject({ remainingChanges: 7, isExact: false })
      const parts = ['20', '3F'].map((middle) => [
        { minInclusive: '', maxExclusive: middle },
        { minInclusive: middle, maxExclusive: 'FF' },
      ])
      for (const part of parts) {
        const bodies: unknown[] = []
        let counted = 0
        for (const one of part) {
          const { continuation } = await feed.resolveStart({ range: one, start: 'beginning' })
          const { changes, lsn } = await feed.readPage({ range: one, continuation })
          bodies.push(...changes.map(({ id }) => id))
          expect(lsn).toBe(20)
          const { remainingChanges } = await feed.measureLag({ range: one, continuation })
          expect(remainingChanges).toBe(changes.length)
          counted += remainingChanges
        }
        expect(counted).toBe(20)
        expect(new Set(bodies).size).toBe(20)
      }
    })

    test('CF-10 a reader that waits wakes when another process dead-letters a message', async () => {
      const { space, queue } = await start()
      const feed = space.broker.deadLetterFeed('q')
      const other = queue.through(await space.brokerElsewhere())
      const { continuation } = await feed.resolveStart({ range, start: 'beginning' })
      const request = { range, continuation, timeoutMs: 60_000, signal }
      const waiting = feed.waitForChanges(request)
      await space.settled()
      await bury(other, 'a')
      expect(await waiting).toBe(true)
      // What is there already keeps nobody waiting.
      expect(await feed.waitForChanges(request)).toBe(true)
      const now = await feed.resolveStart({ range, start: 'now' })
      const idle = feed.waitForChanges({ ...request, continuation: now.continuation })
      expect(await space.during(idle, 60_000)).toBe(false)
      const stop = new AbortController()
      const stopped = feed.waitForChanges({ ...now, range, timeoutMs: 1000, signal: stop.signal })
      await space.settled()
      stop.abort(new Error('enough'))
      await expect(stopped).rejects.toThrow('enough')
    })

    test('ST-6 positions are of one entity, and not of a later one of the same name', async () => {
      const { space, queue } = await start()
      const feed = space.broker.deadLetterFeed('q')
      await bury(queue, 'a')
      const { continuation } = await readAll(feed, 'beginning')
      const { identity } = feed
      expect(space.broker.deadLetterFeed('q').identity).not.toBe(identity)
      await space.pass(1)
      await space.broker.deleteQueue('q')
      expect(await rejection(feed.readFeedRanges())).toBe('ERR_MESSAGING_ENTITY_NOT_FOUND')
      await bury(await space.queue('q'), 'b')
      const read = feed.readPage({ range, continuation })
      expect(await rejection(read)).toBe('ERR_INVALID_CONTINUATION')
      expect(feed.identity).not.toBe(identity)
      expect((await readAll(feed, 'beginning')).bodies).toEqual(['b'])
      const versions = feed.resolveStart({ range, start: 'now', mode: 'allVersions' })
      expect(await rejection(versions)).toBe('ERR_ALL_VERSIONS_OFF')
    })

    test('CF-8 positions are durable', async ({ skip }) => {
      const space = await openAlone()
      if (!space.isDurable) skip('this engine is not durable')
      const queue = await space.queue('q', expiring)
      await bury(queue, 'a', 'b')
      const feed = space.broker.deadLetterFeed('q')
      const { continuation } = await readAll(feed, 'beginning')
      await bury(queue, 'c')
      await space.stop()
      await space.restart()
      const again = space.broker.deadLetterFeed('q')
      expect((await readAll(again, { continuation })).bodies).toEqual(['c'])
      expect((await readAll(again, 'beginning')).bodies).toEqual(['a', 'b', 'c'])
      expect(again.identity).toBe(feed.identity)
    })
  })
}
