import { describe, expect, test } from 'vitest'
import { BOTH, rejection, type CaseParts } from './fixtures.ts'
import { bodies, only, receiveNow } from './tested-entity.ts'

const SESSIONS = { requiresSession: true, deadLetteringOnMessageExpiration: true }
const A = { sessionId: 'A' }
const B = { sessionId: 'B' }

/** A session expires as a whole. */
export function messagingSessionsExpiry({ open }: CaseParts): void {
  describe.each(BOTH)('expiry of sessions in a %s', (kind) => {
    test('SES-01 SES-02 one expired message takes its session along, and no other', async () => {
      const space = await open()
      const entity = await space.receiving(kind, SESSIONS)
      await entity.send(
        { body: 'a1', ...A },
        { body: 'a2', ...A, timeToLive: 800 },
        { body: 'b1', ...B },
        { body: 'a3', ...A },
      )
      await space.at(1500)
      const a = await entity.accept('A')
      expect(await receiveNow(a)).toEqual([])
      const dead = await entity.dead()
      expect(bodies(dead)).toEqual(['a1', 'a2', 'a3'])
      const reasons = new Set(dead.map(({ deadLetterReason }) => deadLetterReason))
      expect([...reasons]).toEqual(['TTLExpiredException'])
      const b = await entity.accept('B')
      expect(bodies(await receiveNow(b))).toEqual(['b1'])
    })

    test('SES-01 without dead-lettering all of them are gone', async () => {
      const space = await open()
      const entity = await space.receiving(kind, { requiresSession: true })
      await entity.send(
        { body: 'a1', ...A },
        { body: 'a2', ...A, timeToLive: 800 },
        { body: 'b1', ...B },
      )
      await space.at(1500)
      const a = await entity.accept('A')
      expect(await receiveNow(a)).toEqual([])
      expect(await entity.places()).toEqual({ here: ['b1'], dead: [] })
    })

    test('SES-01 SES-16 who waits for the next session is not offered one that has expired', async () => {
      const space = await open()
      const entity = await space.receiving(kind, SESSIONS)
      await entity.send({ body: 'a1', ...A }, { body: 'a2', ...A, timeToLive: 800 })
      await entity.send({ body: 'b1', ...B })
      await space.at(1500)
      const next = await entity.acceptNext()
      expect(next.sessionId).toBe('B')
      expect(await rejection(entity.acceptNext())).toBe('ERR_SERVICE_TIMEOUT')
      expect(await entity.places()).toEqual({ here: ['b1'], dead: ['a1', 'a2'] })
    })

    test('SES-03 nothing expires while nobody listens', async () => {
      const space = await open()
      const entity = await space.receiving(kind, SESSIONS)
      await entity.send({ body: 'a1', ...A }, { body: 'a2', ...A, timeToLive: 800 })
      await space.at(2000)
      expect(await entity.places()).toEqual({ here: ['a1', 'a2'], dead: [] })
    })

    test('SES-03 SES-16 a session does not expire because another one is held', async () => {
      const space = await open()
      const entity = await space.receiving(kind, SESSIONS)
      await entity.send({ body: 'a1', ...A, timeToLive: 800 }, { body: 'b1', ...B })
      const b = await entity.accept('B')
      await space.at(2000)
      expect(bodies(await receiveNow(b))).toEqual(['b1'])
      expect(await entity.places()).toEqual({ here: ['a1', 'b1'], dead: [] })
      await entity.accept('A')
      await space.settled()
      expect(bodies(await entity.dead())).toEqual(['a1'])
    })

    test('SES-04 messages that are delivered survive', async () => {
      const space = await open()
      const entity = await space.receiving(kind, SESSIONS)
      await entity.send({ body: 'a1', ...A, timeToLive: 900 })
      const a = await entity.accept('A')
      const message = only(await receiveNow(a))
      await space.at(1600)
      await a.completeMessage(message)
      expect(await entity.places()).toEqual({ here: [], dead: [] })
    })

    test('SES-04 also when the rest of the session expires', async () => {
      const space = await open()
      const entity = await space.receiving(kind, SESSIONS)
      await entity.send({ body: 'a1', ...A }, { body: 'a2', ...A, timeToLive: 900 })
      const a = await entity.accept('A')
      const message = only(await receiveNow(a, 1))
      await space.at(1600)
      expect(await entity.places()).toEqual({ here: ['a1'], dead: ['a2'] })
      await a.completeMessage(message)
      expect(await entity.places()).toEqual({ here: [], dead: ['a2'] })
    })

    test('SES-05 what is sent later lives as usual', async () => {
      const space = await open()
      const entity = await space.receiving(kind, SESSIONS)
      await entity.send({ body: 'a1', ...A, timeToLive: 800 }, { body: 'a2', ...A })
      await space.at(1500)
      const a = await entity.accept('A')
      expect(await receiveNow(a)).toEqual([])
      await entity.send({ body: 'a4', ...A })
      expect(bodies(await receiveNow(a))).toEqual(['a4'])
      expect(bodies(await entity.dead())).toEqual(['a1', 'a2'])
    })

    test('SES-06 a waiting message takes the others along while the session is held', async () => {
      const space = await open()
      const entity = await space.receiving(kind, SESSIONS)
      const a = await entity.accept('A')
      await entity.send({ body: 'x', ...A }, { body: 'y', ...A, timeToLive: 800 })
      await space.at(1500)
      expect(await receiveNow(a)).toEqual([])
      expect(bodies(await entity.dead())).toEqual(['x', 'y'])
    })

    test('SES-01 EXP-21 deferred and scheduled messages of the session stay', async () => {
      const space = await open()
      const entity = await space.receiving(kind, SESSIONS)
      await entity.send({ body: 'deferred', ...A })
      const a = await entity.accept('A')
      const deferred = only(await receiveNow(a))
      await a.deferMessage(deferred)
      const scheduledEnqueueTimeUtc = new Date(space.startMs + 5000)
      await entity.send(
        { body: 'x', ...A },
        { body: 'y', ...A, timeToLive: 800 },
        { body: 'scheduled', ...A, scheduledEnqueueTimeUtc },
      )
      await space.at(1500)
      expect(await receiveNow(a)).toEqual([])
      const again = await a.receiveDeferredMessages(deferred.sequenceNumber)
      expect(bodies(again)).toEqual(['deferred'])
      await space.at(5000)
      expect(bodies(await receiveNow(a))).toEqual(['scheduled'])
      expect(bodies(await entity.dead())).toEqual(['x', 'y'])
    })
  })
}
