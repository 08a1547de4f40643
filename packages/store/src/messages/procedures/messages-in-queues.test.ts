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

  test('SET-03 what is due in the owner is in the dead-letter queue as soon as somebody looks there', async () => {
    const queue = await messages.queue('q', { maxDeliveryCount: 1, lockDurationMs: 5000 })
    await queue.send({ messageId: 'a' })
    await queue.receive()
    await messages.wait(5000)
    expect(await (await queue.deadLetters()).peek()).toEqual(['a'])
  })

  test('SET-05 gives no deferred message when they are too many bytes together, and one of any size alone', async () => {
    const queue = await messages.queue('q')
    await queue.send({ messageId: 'a', bytes: 50 }, { messageId: 'b', bytes: 50 })
    await queue.settle('defer', ...(await queue.receive(2)))
    expect(await queue.receiveDeferred([1, 2], undefined, 99)).toBe('tooMany')
    expect(heads(await queue.receiveDeferred([2], undefined, 49))).toEqual(['b'])
    expect(heads(await queue.receiveDeferred([1], undefined, 49))).toEqual(['a'])
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
})

describe('expiry', () => {
  const keeps = { deadLettersExpired: true }

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
})

describe('what others learn', () => {
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
})
