import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EntitySettings } from '../entities.ts'
import type { SessionHold } from '../message-commands.ts'
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

describe('holding a session', () => {
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
  const set = (queue: Entity, hold: SessionHold, bytes: number | undefined): Promise<string> =>
    messages
      .perform<'setSessionState'>({
        kind: 'setSessionState',
        ...queue.on,
        hold,
        state: bytes === undefined ? undefined : new Uint8Array(bytes),
      })
      .then(kindOf)

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
