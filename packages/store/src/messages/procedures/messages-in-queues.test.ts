import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ReceiveMode } from '../message-commands.ts'
import { readChanges } from '../rules/message-changes.ts'
import { heads, message, TestedMessages, tokenOf } from './tested-messages.fixture.ts'

let messages: TestedMessages
beforeEach(async () => {
  messages = await TestedMessages.open()
})
afterEach(() => messages[Symbol.asyncDispose]())

const names = (count: number, prefix = 'm') =>
  Array.from({ length: count }, (_, n) => ({ messageId: `${prefix}${n}` }))

describe('sending and receiving', () => {
  test('SET-01 SET-18 messages are numbered, delivered in order under a lock, and completed', async () => {
    const queue = await messages.queue('q')
    expect(await queue.send({ messageId: 'a' }, { messageId: 'b' })).toEqual([1, 2])
    expect(await queue.send({ messageId: 'c' })).toEqual([3])
    const [first, second] = await queue.receive(2)
    expect(first?.message).toMatchObject({ head: 'a', number: 1, firstNumber: 1, deliveries: 0 })
    expect(second?.lockedUntilMs).toBe(messages.startMs + 60_000)
    expect(await queue.peek()).toEqual(['a locked', 'b locked', 'c'])
    expect(await queue.settle('complete', ...(first ? [first] : []))).toEqual(['settled'])
    expect(await queue.peek()).toEqual(['b locked', 'c'])
  })

  test('SET-02 an abandoned message is in front again, with one more delivery and its changes', async () => {
    const queue = await messages.queue('q')
    await queue.send({ messageId: 'a' }, { messageId: 'b' })
    const [first] = await queue.receive(1)
    const changes = { properties: { tried: true } }
    await queue.settle({ kind: 'abandon', changes }, ...(first ? [first] : []))
    const [again, other] = await queue.receive()
    expect(again?.message).toMatchObject({ head: 'a', number: 1, deliveries: 1 })
    expect(readChanges(again?.message.changes)).toEqual(changes)
    expect(other?.message.deliveries).toBe(0)
  })

  test('SET-08 receive-and-delete removes at delivery and gives no lock', async () => {
    const queue = await messages.queue('q')
    await queue.send({ messageId: 'a', body: new Uint8Array([7]) })
    const answer = await queue.receiveAs({
      requests: [{ mode: 'receiveAndDelete', max: 5, maxBytes: 100, lock: messages.lock() }],
    })
    expect(answer).toMatchObject({
      deliveries: [[{ lockedUntilMs: undefined, message: { head: 'a', lock: undefined } }]],
    })
    expect(await queue.peek()).toEqual([])
  })

  test('SET-19 requests behind 8 MiB of messages are left out, and find theirs with the next command', async () => {
    const queue = await messages.queue('q', { maxBytes: 1e9, maxMessageBytes: 1e9 })
    const bytes = 5 * 1024 * 1024
    await queue.send(...names(4).map((one) => ({ ...one, bytes })))
    const request = { mode: 'peekLock' as const, max: 1, maxBytes: 1 }
    const ask = () =>
      queue.receiveAs({ requests: [1, 2, 3].map(() => ({ ...request, lock: messages.lock() })) })
    const first = await ask()
    expect('deliveries' in first && first.deliveries.map(heads)).toEqual([['m0'], ['m1']])
    const second = await ask()
    expect('deliveries' in second && second.deliveries.map(heads)).toEqual([['m2'], ['m3']])
    const third = await ask()
    expect('deliveries' in third && third.deliveries.map(heads)).toEqual([[], [], []])
  })

  test('SET-19 several requests of one command get different messages', async () => {
    const queue = await messages.queue('q')
    await queue.send(...names(3))
    const request = { mode: 'peekLock' as const, max: 2, maxBytes: 1000 }
    const answer = await queue.receiveAs({
      requests: [1, 2, 3].map(() => ({ ...request, lock: messages.lock() })),
    })
    expect('deliveries' in answer && answer.deliveries.map(heads)).toEqual([
      ['m0', 'm1'],
      ['m2'],
      [],
    ])
  })

  test('SET-04 a message can be sent straight to the dead-letter queue, with a number there and a reason', async () => {
    const queue = await messages.queue('q', { duplicateWindowMs: 60_000 })
    const deadLetter = { reason: 'TypeError', description: 'no total' }
    await queue.send({ messageId: 'a' })
    expect(
      await queue.send(
        { messageId: 'b', deadLetter },
        { messageId: 'c' },
        { messageId: 'd', deadLetter },
      ),
    ).toEqual([1, 2, 2])
    // One that is known is a duplicate, wherever it went.
    expect(await queue.send({ messageId: 'b', deadLetter }, { messageId: 'd' })).toEqual([
      undefined,
      undefined,
    ])
    expect(await queue.peek()).toEqual(['a', 'c'])
    const dead = await queue.deadLetters()
    const [first, second] = await dead.peekMessages()
    expect([first?.head, second?.head]).toEqual(['b', 'd'])
    expect(readChanges(first?.changes).properties).toEqual({
      DeadLetterReason: 'TypeError',
      DeadLetterErrorDescription: 'no total',
    })
    expect((await dead.receive()).map(({ message: { number } }) => number)).toEqual([1, 2])
  })

  test('SET-19 requests for single messages that go together get one each, under locks of their own, in both modes', async () => {
    const queue = await messages.queue('q')
    await queue.send(...names(5))
    const ask = (mode: ReceiveMode, max: number) => ({
      mode,
      max,
      maxBytes: 1,
      lock: messages.lock(),
    })
    const requests = [
      ask('peekLock', 1),
      ask('peekLock', 1),
      ask('receiveAndDelete', 1),
      ask('peekLock', 9),
      ask('peekLock', 1),
      ask('peekLock', 1),
    ]
    const answer = await queue.receiveAs({ requests })
    assert('deliveries' in answer)
    expect(answer.deliveries.map(heads)).toEqual([['m0'], ['m1'], ['m2'], ['m3'], ['m4'], []])
    const locks = answer.deliveries.map(([one]) => one?.message.lock)
    const given = requests.map(({ lock }) => lock)
    expect(locks).toEqual([given[0], given[1], undefined, given[3], given[4], undefined])
  })

  test('SET-06 settling after the end of the lock fails, twice settled too, and a token that is none', async () => {
    const queue = await messages.queue('q', { lockDurationMs: 5000 })
    await queue.send({ messageId: 'a' }, { messageId: 'b' })
    const [a, b] = await queue.receive()
    if (a === undefined || b === undefined) throw new Error('nothing received')
    expect(await queue.settle('complete', b, b)).toEqual(['settled', 'lockLost'])
    expect(await queue.settle('complete', b)).toEqual(['lockLost'])
    await messages.wait(5000)
    expect(await queue.settle('complete', a)).toEqual(['lockLost'])
    expect(await queue.renew(a)).toEqual(['lockLost'])
    const list: unknown = [tokenOf(a)]
    const answer = await messages.perform<'settle'>({
      kind: 'settle',
      ...queue.on,
      dispositions: ['x', list as string].map((token) => ({
        token,
        outcome: { kind: 'complete' },
      })),
    })
    expect(answer).toEqual({ kind: 'settled', answers: ['lockLost', 'lockLost'] })
    expect((await queue.receive())[0]?.message).toMatchObject({ head: 'a', deliveries: 1 })
  })

  test('SET-06 what is due meanwhile is applied by the same command, however often something is', async () => {
    const queue = await messages.queue('q', { lockDurationMs: 5000, maxDeliveryCount: 2 })
    await queue.send(...names(4))
    const [a, b, c, d] = await queue.receive()
    if (a === undefined || b === undefined || c === undefined || d === undefined) {
      throw new Error('nothing received')
    }
    await queue.settle('defer', c)
    await queue.settle('deadLetter', d)
    const makeDue = async (): Promise<void> => {
      await queue.send({
        messageId: 'later',
        scheduledMs: messages.nowMs() + messages.startMs + 10,
      })
      await messages.wait(10)
    }
    await makeDue()
    expect(await queue.renew(b)).toEqual([messages.nowMs() + 5000])
    await makeDue()
    expect(await queue.settle('complete', a, b)).toEqual(['settled', 'settled'])
    await makeDue()
    expect(heads(await queue.receiveDeferred([c.message.number]))).toEqual(['m2'])
    await makeDue()
    const dead = await queue.deadLetters()
    const redriven = await messages.perform<'redrive'>({
      kind: 'redrive',
      ...dead.on,
      messages: [{ number: 1, session: undefined }],
    })
    expect(redriven).toEqual({ kind: 'redriven', numbers: [1] })
    expect(messages.again).toBe(0)
  })

  test('SET-06 a token is good in its own entity only', async () => {
    const queue = await messages.queue('q', { maxDeliveryCount: 1 })
    const other = await messages.queue('r')
    await queue.send({ messageId: 'a' })
    const received = await queue.receive()
    expect(await other.settle('complete', ...received)).toEqual(['lockLost'])
    expect(await (await queue.deadLetters()).settle('complete', ...received)).toEqual(['lockLost'])
    expect(await queue.settle('complete', ...received)).toEqual(['settled'])
  })

  test('SET-07 a renewed lock ends later', async () => {
    const queue = await messages.queue('q', { lockDurationMs: 5000 })
    await queue.send({ messageId: 'a' })
    const received = await queue.receive()
    await messages.wait(4000)
    expect(await queue.renew(...received)).toEqual([9000])
    await messages.wait(4999)
    expect(await queue.settle('complete', ...received)).toEqual(['settled'])
  })

  test('SET-03 after MaxDeliveryCount deliveries a message is dead-lettered, by abandon or timeout', async () => {
    const queue = await messages.queue('q', { maxDeliveryCount: 2, lockDurationMs: 5000 })
    await queue.send({ messageId: 'a' })
    await queue.settle('abandon', ...(await queue.receive()))
    await queue.receive()
    await messages.wait(5000)
    expect(await queue.peek()).toEqual([])
    const dead = await queue.deadLetters()
    const [letter] = await dead.receive()
    expect(letter?.message).toMatchObject({ head: 'a', number: 1, firstNumber: 1, deliveries: 2 })
    expect(readChanges(letter?.message.changes).properties).toEqual({
      DeadLetterReason: 'MaxDeliveryCountExceeded',
      DeadLetterErrorDescription: 'Message could not be consumed after 2 delivery attempts.',
    })
  })

  test('SET-03 what is due in the owner is in the dead-letter queue as soon as somebody looks there', async () => {
    const queue = await messages.queue('q', { maxDeliveryCount: 1, lockDurationMs: 5000 })
    await queue.send({ messageId: 'a' })
    await queue.receive()
    await messages.wait(5000)
    expect(await (await queue.deadLetters()).peek()).toEqual(['a'])
  })

  test('SET-04 dead-lettering is refused in a dead-letter queue, which does everything else', async () => {
    const queue = await messages.queue('q', { maxDeliveryCount: 1 })
    const dead = await queue.deadLetters()
    await queue.send({ messageId: 'a' })
    await queue.settle(
      { kind: 'deadLetter', changes: undefined, reason: 'bad', description: 'very' },
      ...(await queue.receive()),
    )
    const received = await dead.receive()
    expect(readChanges(received[0]?.message.changes).properties).toEqual({
      DeadLetterReason: 'bad',
      DeadLetterErrorDescription: 'very',
    })
    expect(await dead.settle('deadLetter', ...received)).toEqual(['notAllowed'])
    expect(await dead.settle('abandon', ...received)).toEqual(['settled'])
    expect(await dead.settle('defer', ...(await dead.receive()))).toEqual(['settled'])
    expect(heads(await dead.receiveDeferred([1]))).toEqual(['a'])
    expect(await dead.send({ messageId: 'b' })).toBe('notAllowed')
  })

  test('SET-05 deferred messages come by number only, and stay deferred when they are abandoned', async () => {
    const queue = await messages.queue('q')
    await queue.send({ messageId: 'a' }, { messageId: 'b' })
    await queue.settle('defer', ...(await queue.receive(1)))
    expect(await queue.peek()).toEqual(['a deferred', 'b'])
    expect(heads(await queue.receive())).toEqual(['b'])
    expect(await queue.receiveDeferred([1, 2])).toBe('notFound')
    const received = await queue.receiveDeferred([1, 1])
    expect(heads(received)).toEqual(['a'])
    expect(await queue.receiveDeferred([1])).toBe('notFound')
    if (typeof received === 'string') throw new Error(received)
    await queue.settle('abandon', ...received)
    expect(await queue.peek()).toEqual(['a deferred', 'b locked'])
  })

  test('SET-05 gives no deferred message when they are too many bytes together, and one of any size alone', async () => {
    const queue = await messages.queue('q')
    await queue.send({ messageId: 'a', bytes: 50 }, { messageId: 'b', bytes: 50 })
    await queue.settle('defer', ...(await queue.receive(2)))
    expect(await queue.receiveDeferred([1, 2], undefined, 99)).toBe('tooMany')
    expect(heads(await queue.receiveDeferred([2], undefined, 49))).toEqual(['b'])
    expect(heads(await queue.receiveDeferred([1], undefined, 49))).toEqual(['a'])
  })

  test('what was received ahead comes back without a delivery', async () => {
    const queue = await messages.queue('q', { maxDeliveryCount: 1 })
    await queue.send({ messageId: 'a' })
    await queue.settle('release', ...(await queue.receive()))
    expect((await queue.receive())[0]?.message.deliveries).toBe(0)
  })

  test('SET-20 a full entity and a message that is too large are refused, and nothing of the parcel is stored', async () => {
    const queue = await messages.queue('q', { maxBytes: 100, maxMessageBytes: 60 })
    const parcel = (...bytes: number[]) =>
      bytes.map((size, n) => message({ messageId: `${size}-${n}`, bytes: size }))
    const answer = await queue.sendAs([parcel(50), parcel(30, 30), parcel(20, 61), parcel(50)])
    expect(answer).toEqual({
      kind: 'sent',
      parcels: [
        { kind: 'sent', numbers: [1] },
        { kind: 'full' },
        { kind: 'tooLarge' },
        { kind: 'sent', numbers: [2] },
      ],
    })
    expect(await queue.send({ bytes: 1 })).toBe('full')
    await queue.settle('complete', ...(await queue.receive(1)))
    expect(await queue.send({ bytes: 50 })).toEqual([3])
  })

  test('SET-10 a repeated messageId is accepted and dropped, and takes no number', async () => {
    const queue = await messages.queue('q', { duplicateWindowMs: 20_000, maxBytes: 100 })
    expect(await queue.send({ messageId: 'a' }, { messageId: 'a' })).toEqual([1, undefined])
    expect(await queue.send({ messageId: 'b', bytes: 1000 })).toBe('full')
    expect(
      await queue.send(
        { messageId: 'a', scheduledMs: messages.startMs + 5000 },
        { messageId: 'b', scheduledMs: messages.startMs + 5000 },
      ),
    ).toEqual([undefined, 2])
    await messages.wait(20_000)
    expect(await queue.send({ messageId: 'a' }, { messageId: 'c' })).toEqual([4, 5])
  })

  test('a command for an entity that changed, is disabled or is gone is refused', async () => {
    const queue = await messages.queue('q', { status: 'Disabled' })
    expect(await queue.send({})).toBe('disabled')
    await expect(queue.receive()).rejects.toThrow('disabled')
    const send = { kind: 'send' as const, ...queue.on, parcels: [] }
    const other = await messages.queue('r')
    expect(
      await messages.perform<'send'>({ ...send, entity: other.number, version: 9 }),
    ).toMatchObject({ reason: 'stale' })
    expect(await messages.perform<'send'>({ ...send, entity: 999, version: 1 })).toMatchObject({
      reason: 'gone',
    })
  })

  test('SET-13 SES-14 nobody receives from an entity that forwards, or by a session where there is none', async () => {
    await messages.queue('q')
    const source = await messages.queue('r', { forwardTo: 'q' })
    await expect(source.receive()).rejects.toThrow('notAllowed')
    const plain = await messages.queue('s')
    expect(await plain.accept({ named: 'x' })).toBe('otherSessionUse')
    await expect(plain.receive(1, { session: 'x', lock: messages.lock() })).rejects.toThrow(
      'otherSessionUse',
    )
  })
})

describe('expiry', () => {
  const keeps = { deadLettersExpired: true }

  test('EXP-04 EXP-16 nothing expires until somebody listens; the listener does not get it', async () => {
    const queue = await messages.queue('q', keeps)
    const dead = await queue.deadLetters()
    await queue.send({ messageId: 'a', ttlMs: 900 })
    await messages.wait(2200)
    expect(await queue.peek()).toEqual(['a'])
    expect(await dead.peek()).toEqual([])
    await dead.receive()
    expect(await queue.peek()).toEqual(['a'])
    expect(await queue.receive()).toEqual([])
    const [letter] = await dead.peekMessages()
    expect(letter).toMatchObject({
      head: 'a',
      ttlMs: 900,
      enqueuedMs: messages.startMs,
      expiresMs: messages.startMs + 900,
    })
    expect(readChanges(letter?.changes).properties).toMatchObject({
      DeadLetterReason: 'TTLExpiredException',
    })
  })

  test('EXP-03 expired messages are skipped wherever they are', async () => {
    const queue = await messages.queue('q', keeps)
    await queue.send({ messageId: 'a' }, { messageId: 'x', ttlMs: 900 }, { messageId: 'b' })
    await queue.send({ messageId: 'y', ttlMs: 800 }, { messageId: 'c' })
    await messages.wait(1000)
    expect(heads(await queue.receive())).toEqual(['a', 'b', 'c'])
    expect(await (await queue.deadLetters()).peek()).toEqual(['y', 'x'])
  })

  test('EXP-02 EXP-15 receive-and-delete gets nothing expired; it is dropped', async () => {
    const queue = await messages.queue('q')
    await queue.send({ ttlMs: 1000 })
    await messages.wait(1000)
    const answer = await queue.receiveAs({
      requests: [{ mode: 'receiveAndDelete', max: 5, maxBytes: 100, lock: messages.lock() }],
    })
    expect(answer).toMatchObject({ deliveries: [[]] })
    expect(await queue.peek()).toEqual([])
    expect(await (await queue.deadLetters()).peek()).toEqual([])
  })

  test('EXP-05 EXP-08 a locked message may be renewed and completed after its expiry', async () => {
    const queue = await messages.queue('q', { ...keeps, lockDurationMs: 2000 })
    await queue.send({ ttlMs: 900 })
    const received = await queue.receive()
    await messages.wait(1300)
    expect(await queue.renew(...received)).toEqual([3300])
    await queue.receive()
    await messages.wait(1300)
    expect(await queue.settle('complete', ...received)).toEqual(['settled'])
    expect(await (await queue.deadLetters()).peek()).toEqual([])
  })

  test('EXP-06 when the lock ends, expiry takes effect without a listener', async () => {
    const queue = await messages.queue('q', { ...keeps, lockDurationMs: 2000 })
    const dead = await queue.deadLetters()
    await queue.send({ messageId: 'a', ttlMs: 1000 })
    await queue.receive()
    await messages.wait(1500)
    expect(await dead.peek()).toEqual([])
    await messages.wait(500)
    expect(await dead.peek()).toEqual(['a'])
  })

  test('EXP-07 an abandoned message that has expired is never redelivered', async () => {
    const queue = await messages.queue('q', keeps)
    await queue.send({ messageId: 'a', ttlMs: 900 })
    const received = await queue.receive()
    await messages.wait(1000)
    expect(await queue.settle('abandon', ...received)).toEqual(['settled'])
    expect(await (await queue.deadLetters()).peek()).toEqual(['a'])
  })

  test('EXP-20 dead letters do not expire', async () => {
    const queue = await messages.queue('q', keeps)
    const dead = await queue.deadLetters()
    await queue.send({ messageId: 'a', ttlMs: 1200 })
    await queue.settle('deadLetter', ...(await queue.receive()))
    await messages.wait(5000)
    await dead.settle('abandon', ...(await dead.receive()))
    expect(await dead.settle('complete', ...(await dead.receive()))).toEqual(['settled'])
  })

  test('EXP-21 deferred messages do not expire', async () => {
    const queue = await messages.queue('q', keeps)
    await queue.send({ messageId: 'a', ttlMs: 900 })
    await queue.settle('defer', ...(await queue.receive()))
    await messages.wait(2000)
    expect(await queue.receive()).toEqual([])
    expect(heads(await queue.receiveDeferred([1]))).toEqual(['a'])
    await messages.wait(60_000)
    expect(await queue.peek()).toEqual(['a deferred'])
  })

  test('more than a piece is applied in several transactions, in order', async () => {
    const queue = await messages.queue('q', keeps)
    const dead = await queue.deadLetters()
    await queue.send(...names(450).map((name) => ({ ...name, ttlMs: 500 })), { messageId: 'z' })
    await messages.wait(500)
    const lock = messages.lock()
    const command = {
      kind: 'receive' as const,
      ...queue.on,
      hold: undefined,
      requests: [{ mode: 'peekLock' as const, max: 1000, maxBytes: 1e9, lock }],
    }
    expect(await messages.once(command)).toEqual({ kind: 'again' })
    expect((await dead.peek()).length).toBe(200)
    expect(heads(await queue.receive())).toEqual(['z'])
    expect(await dead.peek()).toEqual(names(450).map(({ messageId }) => messageId))
    expect((await dead.peekMessages()).map(({ number }) => number)).toEqual(
      names(450).map((_, n) => n + 1),
    )
  })
})

describe('scheduled messages', () => {
  test('SCH-01 SCH-02 SCH-05 are enqueued at their instant with a new number, and expire from there', async () => {
    const queue = await messages.queue('q')
    const atMs = messages.startMs + 1500
    expect(await queue.send({ messageId: 'a', scheduledMs: atMs, ttlMs: 700 })).toEqual([1])
    expect(await queue.send({ messageId: 'b' })).toEqual([2])
    expect(await queue.peek()).toEqual(['a scheduled', 'b'])
    await messages.wait(1499)
    expect(heads(await queue.receive(1))).toEqual(['b'])
    expect(await queue.receive()).toEqual([])
    await messages.wait(501)
    expect(await queue.send({ messageId: 'c' })).toEqual([4])
    const [a] = await queue.receive(1)
    expect(a?.message).toMatchObject({
      head: 'a',
      number: 3,
      firstNumber: 3,
      enqueuedMs: atMs,
      expiresMs: atMs + 700,
    })
  })

  test('SCH-07 do not expire while they are scheduled, and then only with a listener', async () => {
    const queue = await messages.queue('q', { deadLettersExpired: true })
    await queue.send({ messageId: 'a', scheduledMs: messages.startMs + 900, ttlMs: 900 })
    await messages.wait(2500)
    expect(await queue.peek()).toEqual(['a'])
    expect(await queue.receive()).toEqual([])
    expect(await (await queue.deadLetters()).peekMessages()).toMatchObject([
      { head: 'a', firstNumber: 2 },
    ])
  })

  test('SCH-07 SET-18 one that nobody saw before it expired took its number, too', async () => {
    const queue = await messages.queue('q', { deadLettersExpired: true })
    await queue.send({ messageId: 'a', scheduledMs: messages.startMs + 900, ttlMs: 900 })
    await messages.wait(2500)
    expect(await queue.receive()).toEqual([])
    expect(await (await queue.deadLetters()).peekMessages()).toMatchObject([
      { head: 'a', number: 1, firstNumber: 2 },
    ])
    expect(await queue.send({ messageId: 'b' })).toEqual([3])
  })

  test('SCH-04 can be cancelled before their instant: all of the given ones, or none', async () => {
    const queue = await messages.queue('q')
    const scheduledMs = messages.startMs + 1000
    await queue.send({ messageId: 'a', scheduledMs }, { messageId: 'b', scheduledMs })
    await queue.send({ messageId: 'c' })
    const cancel = (...numbers: number[]) =>
      messages.perform<'cancel'>({ kind: 'cancel', ...queue.on, numbers })
    expect(await cancel(1, 3)).toEqual({ kind: 'notFound', number: 3 })
    expect(await cancel(1)).toEqual({ kind: 'cancelled' })
    expect(await cancel(1)).toEqual({ kind: 'notFound', number: 1 })
    await messages.wait(1000)
    expect(await cancel(2)).toEqual({ kind: 'notFound', number: 2 })
    expect(await queue.peek()).toEqual(['c', 'b'])
  })
})

describe('what others learn', () => {
  test('counts', async () => {
    const queue = await messages.queue('q')
    await queue.send(...names(3), { ttlMs: 10 })
    await queue.send({ scheduledMs: messages.startMs + 1000 })
    await queue.settle('defer', ...(await queue.receive(1)))
    await queue.receive(1)
    await messages.wait(10)
    expect(await messages.perform<'count'>({ kind: 'count', ...queue.on })).toEqual({
      kind: 'counted',
      counts: {
        active: 3,
        locked: 1,
        deferred: 1,
        scheduled: 1,
        expired: 1,
        bytes: 50,
        oldestEnqueuedMs: messages.startMs,
      },
    })
  })

  test('a watch names the entities in which there is something new', async () => {
    const queue = await messages.queue('q', { maxDeliveryCount: 1 })
    const dead = await queue.deadLetters()
    const seen: (readonly number[] | undefined)[] = []
    const end = messages.engine.watch((entities) => seen.push(entities))
    await queue.send({})
    const received = await queue.receive()
    await queue.settle('abandon', ...received)
    await dead.settle('complete', ...(await dead.receive()))
    end()
    expect(seen).toEqual([[queue.number], [dead.number]])
  })

  test('SET-16 the lock is in the token, not in a link', async () => {
    const queue = await messages.queue('q')
    await queue.send({})
    const [received] = await queue.receive()
    expect(received && tokenOf(received)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-/)
  })
})
