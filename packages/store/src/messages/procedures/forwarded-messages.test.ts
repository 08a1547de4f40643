import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { readChanges } from '../rules/message-changes.ts'
import { TestedMessages, type Entity } from './tested-messages.fixture.ts'

let messages: TestedMessages
beforeEach(async () => {
  messages = await TestedMessages.open()
})
afterEach(() => messages[Symbol.asyncDispose]())

type Order = CommandOf<'forward'>['messages'][number]

const readForwardable = async (source: Entity): Promise<readonly string[]> => {
  const command = { kind: 'readForwardable' as const, ...source.on, afterNumber: 0, max: 10 }
  const answer = await messages.perform<'readForwardable'>(command)
  return answer.kind === 'messages' ? answer.messages.map(({ head }) => head) : [answer.reason]
}

const forward = async (
  source: Entity,
  destination: Entity | undefined,
  ...orders: readonly (Partial<Order> & { number: number })[]
): Promise<CommandAnswers['forward']> =>
  messages.perform<'forward'>({
    kind: 'forward',
    ...source.on,
    destination: destination && {
      entity: destination.number,
      version: await destination.version(),
    },
    messages: orders.map((order) => ({
      messageId: `m${order.number}`,
      session: undefined,
      copies: [],
      deadLetter: undefined,
      ...order,
    })),
  })

const reasons = async (entity: Entity): Promise<readonly unknown[]> =>
  (await (await entity.deadLetters()).peekMessages()).map(
    ({ changes }) => readChanges(changes).properties?.['DeadLetterReason'],
  )

describe('forwarding', () => {
  test('SET-13 SET-18 moves each message once, with a new number and its first one', async () => {
    const target = await messages.queue('target', { defaultTtlMs: 5000 })
    const source = await messages.queue('source', { forwardTo: 'target' })
    await target.send({ messageId: 'x' })
    await source.send({ messageId: 'a', ttlMs: 900 }, { messageId: 'b', ttlMs: 9000 })
    expect(await readForwardable(source)).toEqual(['a', 'b'])
    await messages.wait(800)
    const moved = await forward(source, target, { number: 1 }, { number: 2 })
    expect(moved).toEqual({ kind: 'forwarded', left: 0, stuck: 0 })
    expect(await forward(source, target, { number: 1 })).toEqual({
      kind: 'forwarded',
      left: 0,
      stuck: 0,
    })
    expect(await source.peek()).toEqual([])
    const nowMs = messages.startMs + 800
    expect(await target.peekMessages()).toMatchObject([
      { head: 'x', number: 1 },
      { head: 'a', number: 2, firstNumber: 1, hops: 1, enqueuedMs: nowMs, ttlMs: 900 },
      { head: 'b', number: 3, firstNumber: 2, hops: 1, ttlMs: 5000, expiresMs: nowMs + 5000 },
    ])
  })

  test('EXP-04 listens: what has expired is not forwarded', async () => {
    const source = await messages.queue('source', { deadLettersExpired: true })
    const target = await messages.queue('target')
    await source.send({ messageId: 'a', ttlMs: 500 }, { messageId: 'b' })
    await messages.wait(500)
    await forward(source, target, { number: 1 })
    expect(await target.peek()).toEqual([])
    expect(await readForwardable(source)).toEqual(['b'])
    expect(await reasons(source)).toEqual(['TTLExpiredException'])
  })

  test('SET-13 what cannot go there is dead-lettered here', async () => {
    const source = await messages.queue('source', { forwardTo: 'source' })
    const full = await messages.queue('full', { maxBytes: 10 })
    const disabled = await messages.queue('disabled', { status: 'SendDisabled' })
    const sessions = await messages.queue('sessions', { requiresSession: true })
    await source.send(...[1, 2, 3, 4, 5, 6].map((n) => ({ messageId: `m${n}` })))
    const hops = { reason: 'MaxTransferHopCountExceeded', description: 'too far' }
    await forward(source, undefined, { number: 1, deadLetter: hops })
    await forward(source, full, { number: 2 }, { number: 3 })
    await forward(source, disabled, { number: 4 })
    await forward(source, sessions, { number: 5 }, { number: 6, session: 's' })
    expect(await reasons(source)).toEqual([
      'MaxTransferHopCountExceeded',
      'ForwardingDestinationFull',
      'ForwardingDestinationDisabled',
      'Session ID is null',
    ])
    expect(await full.peek()).toEqual(['m2'])
    expect((await sessions.peekMessages())[0]?.session).toBe('s')
    expect(await source.peek()).toEqual([])
  })

  test('SET-13 a destination that has changed is judged again', async () => {
    const source = await messages.queue('source')
    const target = await messages.queue('target')
    await source.send({})
    const command = {
      kind: 'forward' as const,
      ...source.on,
      messages: [
        { number: 1, messageId: 'm', session: undefined, copies: [], deadLetter: undefined },
      ],
    }
    for (const destination of [
      { entity: target.number, version: 7 },
      { entity: 99, version: 1 },
    ]) {
      expect(await messages.perform<'forward'>({ ...command, destination })).toEqual({
        kind: 'destinationChanged',
      })
    }
    expect(await source.peek()).toEqual(['m'])
  })

  test('SET-10 a duplicate at the destination is dropped, and takes no number', async () => {
    const source = await messages.queue('source')
    const target = await messages.queue('target', { duplicateWindowMs: 20_000 })
    await target.send({ messageId: 'm1' })
    await source.send({ messageId: 'm1' }, { messageId: 'm2' })
    await forward(source, target, { number: 1 }, { number: 2 })
    expect(await source.peek()).toEqual([])
    expect(await target.peekMessages()).toMatchObject([{ number: 1 }, { head: 'm2', number: 2 }])
  })

  test('only waiting messages are forwarded', async () => {
    const source = await messages.queue('source')
    const target = await messages.queue('target')
    await source.send({ messageId: 'a' }, { messageId: 'b' }, { messageId: 'c' })
    await source.send({ messageId: 'd', scheduledMs: messages.startMs + 1000 })
    await source.settle('defer', ...(await source.receive(1)))
    await source.receive(1)
    expect(await readForwardable(source)).toEqual(['c'])
    await forward(source, target, { number: 1 }, { number: 2 }, { number: 3 }, { number: 4 })
    expect(await target.peek()).toEqual(['c'])
    expect(await source.peek()).toEqual(['a deferred', 'b locked', 'd scheduled'])
  })
})

describe('forwarding dead letters', () => {
  test('SET-14 stay where they are when the destination takes none', async () => {
    const source = await messages.queue('orders', { maxDeliveryCount: 1 })
    const target = await messages.queue('target', { status: 'Disabled' })
    const dead = await source.deadLetters()
    await source.send({ messageId: 'a' })
    await source.settle('abandon', ...(await source.receive()))
    expect(await forward(dead, target, { number: 1 })).toEqual({
      kind: 'forwarded',
      left: 1,
      stuck: 0,
    })
    expect(await dead.peek()).toEqual(['a'])
  })
})
