import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EntitySettings } from '../entities.ts'
import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { readChanges } from '../rules/message-changes.ts'
import { TestedMessages, type Entity } from './tested-messages.fixture.ts'

let messages: TestedMessages
beforeEach(async () => {
  messages = await TestedMessages.open()
})
afterEach(() => messages[Symbol.asyncDispose]())

type Order = CommandOf<'redrive'>['messages'][number]

const redrive = async (
  queue: Entity,
  ...orders: readonly (Partial<Order> & { number: number })[]
): Promise<CommandAnswers['redrive']> =>
  messages.perform<'redrive'>({
    kind: 'redrive',
    ...queue.on,
    messages: orders.map((order) => ({ session: undefined, ...order })),
  })

/** A queue whose messages are dead. */
async function dead(
  settings: Partial<EntitySettings>,
  ...ids: readonly string[]
): Promise<{ readonly queue: Entity; readonly deadLetters: Entity }> {
  const queue = await messages.queue('q', { ...settings, deadLettersExpired: true })
  await queue.send(...ids.map((messageId) => ({ messageId, ttlMs: 900, session: 's' })))
  await messages.wait(1000)
  await messages.perform<'applyDue'>({ kind: 'applyDue', ...queue.on, listening: 'everything' })
  return { queue, deadLetters: await queue.deadLetters() }
}

const setStatus = async (queue: Entity, status: EntitySettings['status']): Promise<void> => {
  const record = await messages.record(queue.path)
  if (record === undefined) throw new Error('it is there')
  const { number: entity, version, settings } = record
  const definition = { settings: { ...settings, status }, rules: [] }
  await messages.perform<'update'>({ kind: 'update', entity, version, definition })
}

describe('redriving', () => {
  test('moves each message once, as a new one without a reason', async () => {
    const { queue, deadLetters } = await dead({}, 'a', 'b', 'c')
    await queue.send({ messageId: 'x' })
    expect(await redrive(deadLetters, { number: 3 }, { number: 1 }, { number: 9 })).toEqual({
      kind: 'redriven',
      numbers: [1, 3],
    })
    expect(await redrive(deadLetters, { number: 1 })).toEqual({ kind: 'redriven', numbers: [] })
    expect(await deadLetters.peek()).toEqual(['b'])
    const nowMs = messages.startMs + 1000
    const found = await queue.peekMessages()
    expect(found).toMatchObject([
      { head: 'x', number: 4 },
      { head: 'a', number: 5, firstNumber: 1, deliveries: 0, hops: 0, expiresMs: nowMs + 900 },
      { head: 'c', number: 6, firstNumber: 3, enqueuedMs: nowMs, deadLetterSource: undefined },
    ])
    expect(readChanges(found[1]?.changes).properties).toBeUndefined()
  })

  test('a message is no duplicate of itself', async () => {
    const { queue, deadLetters } = await dead({ duplicateWindowMs: 60_000 }, 'a')
    expect(await redrive(deadLetters, { number: 1 })).toEqual({ kind: 'redriven', numbers: [1] })
    expect(await queue.peek()).toEqual(['a'])
  })

  test('leaves what is locked, has no room, or has no session where one is required', async () => {
    const { queue, deadLetters } = await dead({ requiresSession: true }, 'a', 'b')
    const answer = await redrive(deadLetters, { number: 1 }, { number: 2, session: 's' })
    expect(answer).toEqual({ kind: 'redriven', numbers: [2] })
    expect(await queue.peekMessages()).toMatchObject([{ head: 'b', session: 's' }])
    await deadLetters.receive()
    expect(await redrive(deadLetters, { number: 1, session: 's' })).toEqual({
      kind: 'redriven',
      numbers: [],
    })
  })

  test('a full queue takes no more than it has room for', async () => {
    const { queue, deadLetters } = await dead({}, 'a', 'b')
    const [first] = await deadLetters.peekMessages()
    const record = await messages.record(queue.path)
    if (record === undefined || first === undefined) throw new Error('they are there')
    const settings = { ...record.settings, maxBytes: first.bytes }
    await messages.perform<'update'>({
      kind: 'update',
      entity: record.number,
      version: record.version,
      definition: { settings, rules: [] },
    })
    const answer = await redrive(deadLetters, { number: 1 }, { number: 2 })
    expect(answer).toEqual({ kind: 'redriven', numbers: [1] })
  })

  test('refuses while nobody can send, and what is no dead-letter queue', async () => {
    const { queue, deadLetters } = await dead({}, 'a')
    for (const status of ['Disabled', 'SendDisabled'] as const) {
      await setStatus(queue, status)
      const refused = { kind: 'refused', reason: 'disabled' }
      expect(await redrive(deadLetters, { number: 1 })).toEqual(refused)
    }
    await setStatus(queue, 'ReceiveDisabled')
    expect(await redrive(deadLetters, { number: 1 })).toEqual({ kind: 'redriven', numbers: [1] })
    const notAllowed = { kind: 'refused', reason: 'notAllowed' }
    expect(await redrive(queue, { number: 1 })).toEqual(notAllowed)
  })
})
