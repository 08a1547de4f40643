import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EntitySettings } from '../entities.ts'
import type { SessionHold } from '../message-commands.ts'
import { readChanges } from '../rules/message-changes.ts'
import { heads, kindOf, TestedMessages, type Entity } from './tested-messages.fixture.ts'

let messages: TestedMessages
beforeEach(async () => {
  messages = await TestedMessages.open()
})
afterEach(() => messages[Symbol.asyncDispose]())

const sessions = (settings: Partial<EntitySettings> = {}): Promise<Entity> =>
  messages.queue('q', { requiresSession: true, lockDurationMs: 10_000, ...settings })

const a = (messageId: string, more: object = {}) => ({ messageId, session: 'A', ...more })
const b = (messageId: string, more: object = {}) => ({ messageId, session: 'B', ...more })

const release = (queue: Entity, hold: SessionHold): Promise<string> =>
  messages.perform<'releaseSession'>({ kind: 'releaseSession', ...queue.on, hold }).then(kindOf)

const renew = (queue: Entity, hold: SessionHold): Promise<object> =>
  messages.perform<'renewSession'>({ kind: 'renewSession', ...queue.on, hold })

describe('holding a session', () => {
  test('SES-10 every message needs one; its holder gets its messages in order', async () => {
    const queue = await sessions()
    expect(await queue.send(a('a1'), { messageId: 'x' })).toBe('needsSession')
    expect(await queue.send(a('a1'), b('b1'), a('a2'))).toEqual([1, 2, 3])
    const hold = await queue.hold('A')
    const received = await queue.receive(10, hold)
    expect(heads(received)).toEqual(['a1', 'a2'])
    expect(received[0]?.lockedUntilMs).toBe(messages.startMs + 10_000)
    expect(await queue.settle('complete', ...received)).toEqual(['settled', 'settled'])
    expect(await queue.peek()).toEqual(['b1'])
  })

  test('SES-11 one holder at a time; releasing counts no delivery', async () => {
    const queue = await sessions({ maxDeliveryCount: 1 })
    await queue.send(a('a1'))
    const hold = await queue.hold('A')
    expect(await queue.accept({ named: 'A' })).toBe('taken')
    expect(await queue.accept({ after: '' })).toBe('none')
    const received = await queue.receive(1, hold)
    expect(await release(queue, hold)).toBe('released')
    expect(await queue.settle('complete', ...received)).toEqual(['sessionLockLost'])
    expect(await release(queue, hold)).toBe('sessionLockLost')
    await expect(queue.receive(1, hold)).rejects.toThrow('sessionLockLost')
    const next = await queue.hold('A')
    expect((await queue.receive(1, next))[0]?.message).toMatchObject({ head: 'a1', deliveries: 0 })
  })

  test('SES-11 a renewed hold ends later, and its messages with it', async () => {
    const queue = await sessions()
    await queue.send(a('a1'), a('a2'))
    const hold = await queue.hold('A')
    const received = await queue.receive(1, hold)
    await messages.wait(9999)
    expect(await renew(queue, hold)).toEqual({
      kind: 'renewed',
      lockedUntilMs: messages.startMs + 19_999,
    })
    await messages.wait(5000)
    expect(await queue.renew(...received)).toEqual([24_999])
    await messages.wait(9999)
    expect(await queue.settle('complete', ...received)).toEqual(['settled'])
    await messages.wait(1)
    expect(await renew(queue, hold)).toMatchObject({ reason: 'sessionLockLost' })
  })

  test('SES-12 the next free session with messages, after the given one and then from the beginning', async () => {
    const queue = await sessions()
    await queue.send(a('a1'), b('b1'), { messageId: 'c1', session: 'C' })
    expect(await queue.accept({ after: 'A' })).toMatchObject({ session: 'B' })
    expect(await queue.accept({ after: 'B' })).toMatchObject({ session: 'C' })
    expect(await queue.accept({ after: 'C' })).toMatchObject({ session: 'A' })
    expect(await queue.accept({ after: 'A' })).toBe('none')
    expect(await queue.accept({ named: 'empty' })).toMatchObject({ session: 'empty' })
  })

  test('SES-15 when the hold times out, unsettled messages have one more delivery', async () => {
    const queue = await sessions({ maxDeliveryCount: 2 })
    await queue.send(a('a1'), a('a2'), a('a3'))
    const hold = await queue.hold('A')
    const received = await queue.receive(2, hold)
    await queue.settle('defer', ...received.slice(1))
    const deferred = await queue.receiveDeferred([2], hold)
    expect(heads(deferred)).toEqual(['a2'])
    await messages.wait(10_000)
    expect(await queue.settle('complete', ...received.slice(0, 1))).toEqual(['sessionLockLost'])
    expect(await queue.renew(...received.slice(0, 1))).toEqual(['sessionLockLost'])
    expect(await queue.peek()).toEqual(['a1', 'a2 deferred', 'a3'])
    const next = await queue.hold('A')
    expect((await queue.receive(5, next)).map(({ message }) => message.deliveries)).toEqual([1, 0])
    await messages.wait(10_000)
    const dead = await queue.deadLetters()
    expect((await dead.peekMessages()).map(({ head, session }) => [head, session])).toEqual([
      ['a1', undefined],
    ])
    expect(await queue.peek()).toEqual(['a2 deferred', 'a3'])
  })

  test('SES-11 a message that was given back is not settled, although its session is held', async () => {
    const queue = await sessions()
    await queue.send(a('a1'))
    const received = await queue.receive(1, await queue.hold('A'))
    expect(await queue.settle('release', ...received)).toEqual(['settled'])
    expect(await queue.settle('complete', ...received)).toEqual(['lockLost'])
    expect(await queue.renew(...received)).toEqual(['lockLost'])
    expect(await queue.peek()).toEqual(['a1'])
  })

  test('SES-14 receivers without a session are refused, and peek needs none', async () => {
    const queue = await sessions()
    await queue.send(a('a1'), b('b1'))
    await expect(queue.receive()).rejects.toThrow('otherSessionUse')
    expect(await queue.peek()).toEqual(['a1', 'b1'])
    expect(await queue.peek('B')).toEqual(['b1'])
  })

  test('SET-05 deferred messages come only to the holder of their session', async () => {
    const queue = await sessions()
    await queue.send(a('a1'), b('b1'))
    const hold = await queue.hold('A')
    await queue.settle('defer', ...(await queue.receive(1, hold)))
    const other = await queue.hold('B')
    expect(await queue.receiveDeferred([1], other)).toBe('notFound')
    expect(heads(await queue.receiveDeferred([1], hold))).toEqual(['a1'])
  })
})

describe('state of a session', () => {
  const read = (queue: Entity, hold: SessionHold): Promise<object> =>
    messages.perform<'readSessionState'>({ kind: 'readSessionState', ...queue.on, hold })
  const set = (queue: Entity, hold: SessionHold, bytes: number | undefined): Promise<string> =>
    messages
      .perform<'setSessionState'>({
        kind: 'setSessionState',
        ...queue.on,
        hold,
        state: bytes === undefined ? undefined : new Uint8Array(bytes),
      })
      .then(kindOf)
  const list = (queue: Entity): Promise<object> =>
    messages.perform<'listSessions'>({ kind: 'listSessions', ...queue.on, after: '', max: 10 })

  test('SES-13 outlives the hold, and is for the holder only', async () => {
    const queue = await sessions()
    const hold = await queue.hold('A')
    expect(await read(queue, hold)).toEqual({ kind: 'state', state: undefined })
    expect(await set(queue, hold, 3)).toBe('stored')
    await release(queue, hold)
    expect(await read(queue, hold)).toMatchObject({ reason: 'sessionLockLost' })
    expect(await set(queue, hold, 3)).toBe('sessionLockLost')
    expect(await list(queue)).toEqual({ kind: 'sessions', sessions: ['A'] })
    const next = await queue.hold('A')
    expect(await read(queue, next)).toEqual({ kind: 'state', state: new Uint8Array(3) })
    expect(await set(queue, next, undefined)).toBe('stored')
    await release(queue, next)
    expect(await list(queue)).toEqual({ kind: 'sessions', sessions: [] })
  })

  test('SES-13 counts towards the entity, and is at most one message in size', async () => {
    const queue = await sessions({ maxBytes: 100, maxMessageBytes: 80 })
    await queue.send(a('a1', { bytes: 30 }))
    const hold = await queue.hold('A')
    expect(await set(queue, hold, 81)).toBe('tooLarge')
    expect(await set(queue, hold, 71)).toBe('full')
    expect(await set(queue, hold, 70)).toBe('stored')
    expect(await queue.send(b('b1', { bytes: 1 }))).toBe('full')
    expect(await set(queue, hold, 60)).toBe('stored')
    expect(await queue.send(b('b1', { bytes: 10 }))).toEqual([2])
  })
})

describe('expiry of sessions', () => {
  const keeps = { deadLettersExpired: true }

  test('SES-01 SES-02 one expired message expires its session, and no other', async () => {
    const queue = await sessions(keeps)
    const dead = await queue.deadLetters()
    await queue.send(a('a1'), b('b1'), a('a2', { ttlMs: 800 }), a('a3'))
    await messages.wait(1500)
    const hold = await queue.hold('A')
    expect(await queue.receive(10, hold)).toEqual([])
    expect(await dead.peek()).toEqual(['a1', 'a2', 'a3'])
    for (const { changes, session } of await dead.peekMessages()) {
      expect(session).toBeUndefined()
      expect(readChanges(changes).properties).toMatchObject({
        DeadLetterReason: 'TTLExpiredException',
      })
    }
    expect(heads(await queue.receive(1, await queue.hold('B')))).toEqual(['b1'])
  })

  test('SES-01 without dead-lettering all of them are gone', async () => {
    const queue = await sessions()
    await queue.send(a('a1'), a('a2', { ttlMs: 800 }))
    await messages.wait(800)
    await queue.hold('A')
    expect(await queue.peek()).toEqual([])
    expect(await (await queue.deadLetters()).peek()).toEqual([])
  })

  test('SES-03 nothing expires until somebody listens to the session', async () => {
    const queue = await sessions(keeps)
    await queue.send(a('a1', { ttlMs: 800 }), a('a2'), b('b1'))
    await messages.wait(2000)
    await queue.receive(1, await queue.hold('B'))
    expect(await queue.peek('A')).toEqual(['a1', 'a2'])
  })

  test('SES-12 a session that expiry empties is not offered', async () => {
    const queue = await sessions(keeps)
    await queue.send(a('a1', { ttlMs: 800 }), a('a2'), b('b1'))
    await messages.wait(800)
    expect(await queue.accept({ after: '' })).toMatchObject({ session: 'B' })
    expect(await queue.peek()).toEqual(['b1'])
  })

  test('SES-04 what is locked, deferred or scheduled stays out of it', async () => {
    const queue = await sessions(keeps)
    await queue.send(a('a1', { ttlMs: 900 }), a('a2'), a('a3'), a('a4'))
    await queue.send(a('later', { scheduledMs: messages.startMs + 5000 }))
    const hold = await queue.hold('A')
    const [a1, a2, a3] = await queue.receive(3, hold)
    if (a1 === undefined || a2 === undefined || a3 === undefined) throw new Error('too few')
    await queue.settle('defer', a2)
    await queue.send(a('short', { ttlMs: 500 }))
    await messages.wait(1600)
    expect(await queue.receive(10, hold)).toEqual([])
    expect(await (await queue.deadLetters()).peek()).toEqual(['a4', 'short'])
    expect(await queue.settle('complete', a1)).toEqual(['settled'])
    // It was locked when the session expired, so it has not expired with it.
    expect(await queue.settle('abandon', a3)).toEqual(['settled'])
    expect(heads(await queue.receive(10, hold))).toEqual(['a3'])
    expect(heads(await queue.receiveDeferred([2], hold))).toEqual(['a2'])
    expect(await queue.peek()).toEqual(['a2 locked deferred', 'a3 locked', 'later scheduled'])
  })

  test('SES-05 later messages live normally', async () => {
    const queue = await sessions(keeps)
    await queue.send(a('a1', { ttlMs: 800 }))
    await messages.wait(800)
    const hold = await queue.hold('A')
    await queue.send(a('a2'))
    expect(heads(await queue.receive(10, hold))).toEqual(['a2'])
  })

  test('SES-06 a waiting message takes the others with it while the session is held', async () => {
    const queue = await sessions(keeps)
    const hold = await queue.hold('A')
    await queue.send(a('x'), a('y', { ttlMs: 800 }))
    await messages.wait(1500)
    expect(await queue.receive(10, hold)).toEqual([])
    expect(await (await queue.deadLetters()).peek()).toEqual(['x', 'y'])
  })

  test('SES-06 also when only its broker listens for it', async () => {
    const queue = await sessions(keeps)
    await queue.send(a('x', { ttlMs: 800 }), b('y', { ttlMs: 800 }))
    await messages.wait(800)
    await queue.applyDue({ session: 'A' })
    expect(await queue.peek()).toEqual(['y'])
    await queue.applyDue('everything')
    expect(await queue.peek()).toEqual([])
  })

  test('SES-01 many sessions that expire at once all go, those with many messages too', async () => {
    const queue = await sessions(keeps)
    const expiring = Array.from({ length: 90 }, (_, at) => ({
      messageId: `m${at}`,
      session: `s${at % 45}`,
      ttlMs: 800,
    }))
    await queue.send(...expiring, a('lives', { ttlMs: 5000 }))
    await messages.wait(800)
    await queue.applyDue('everything')
    expect(await queue.peek()).toEqual(['lives'])
    expect(await (await queue.deadLetters()).peek()).toHaveLength(90)
  })

  test('EXP-07 an abandoned message that has expired goes alone', async () => {
    const queue = await sessions(keeps)
    await queue.send(a('a1', { ttlMs: 800 }), a('a2'))
    const hold = await queue.hold('A')
    const received = await queue.receive(1, hold)
    await messages.wait(900)
    expect(await queue.settle('abandon', ...received)).toEqual(['settled'])
    expect(heads(await queue.receive(10, hold))).toEqual(['a2'])
    expect(await (await queue.deadLetters()).peek()).toEqual(['a1'])
  })

  test('SCH-02 a scheduled message that has expired since its instant expires its session', async () => {
    const queue = await sessions(keeps)
    await queue.send(a('a1'), a('late', { scheduledMs: messages.startMs + 500, ttlMs: 100 }))
    await messages.wait(1000)
    await queue.hold('A')
    expect(await (await queue.deadLetters()).peek()).toEqual(['a1', 'late'])
  })

  test('SES-01 the expiry of a large session is carried out in pieces, and acts at once', async () => {
    const queue = await sessions(keeps)
    const dead = await queue.deadLetters()
    const many = Array.from({ length: 450 }, (_, n) => a(`a${n}`))
    await queue.send(...many, a('x', { ttlMs: 800 }))
    await messages.wait(800)
    const lock = messages.lock()
    const command = {
      kind: 'acceptSession' as const,
      ...queue.on,
      lock,
      session: { named: 'A' },
    }
    expect(await messages.once(command)).toEqual({ kind: 'again' })
    expect(await dead.receive(1)).toHaveLength(1)
    await queue.send(a('new'))
    // Whoever looks carries it on: nobody sees what has expired.
    expect(await queue.peek()).toEqual(['new'])
    expect(heads(await queue.receive(10, await queue.hold('A')))).toEqual(['new'])
    expect(await dead.peek()).toHaveLength(451)
  })

  test('SES-15 the end of a hold with many messages is carried out in pieces', async () => {
    const queue = await sessions(keeps)
    await queue.send(...Array.from({ length: 450 }, (_, n) => a(`a${n}`)))
    await queue.receive(1000, await queue.hold('A'))
    await messages.wait(10_000)
    const received = await queue.receive(1000, await queue.hold('A'))
    expect(received).toHaveLength(450)
    expect(received.every(({ message }) => message.deliveries === 1)).toBe(true)
    expect(messages.again).toBeGreaterThan(1)
  })

  test('SES-11 a hold with many messages is released in pieces', async () => {
    const queue = await sessions({ maxDeliveryCount: 1 })
    await queue.send(...Array.from({ length: 450 }, (_, n) => a(`a${n}`)))
    const hold = await queue.hold('A')
    await queue.receive(1000, hold)
    expect(await release(queue, hold)).toBe('released')
    expect(await queue.receive(1000, await queue.hold('A'))).toHaveLength(450)
  })
})
