import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CommandAnswers, MessageCopy } from '../message-commands.ts'
import { CopyBudget } from '../rules/copy-budget.ts'
import { readChanges } from '../rules/message-changes.ts'
import { copyFor, heads, TestedMessages, type Entity } from './tested-messages.fixture.ts'

let messages: TestedMessages
let topic: Entity
beforeEach(async () => {
  messages = await TestedMessages.open()
  topic = await messages.topic('t', { duplicateWindowMs: 20_000, maxBytes: 100 })
})
afterEach(() => messages[Symbol.asyncDispose]())

describe('a send to a topic', () => {
  test('TOP-01 TOP-03 puts copies into subscriptions, which number them', async () => {
    const s1 = await messages.subscription('t', 's1')
    const s2 = await messages.subscription('t', 's2', { status: 'Disabled' })
    const named = copyFor(s2, { changes: { properties: { RuleName: 'r' } } })
    expect(await topic.send({ messageId: 'a', copies: [copyFor(s1)] })).toEqual([1])
    expect(
      await topic.send(
        { messageId: 'b', copies: [copyFor(s1), copyFor(s2), named] },
        { messageId: 'c', copies: [] },
        { messageId: 'd', copies: [copyFor(s2)] },
      ),
    ).toEqual([2, 3, 4])
    expect(await s1.peekMessages()).toMatchObject([
      { head: 'a', number: 1, firstNumber: 1 },
      { head: 'b', number: 2, firstNumber: 2 },
    ])
    const copies = await s2.peekMessages()
    expect(copies).toMatchObject([
      { head: 'b', number: 1, firstNumber: 2, changes: undefined },
      { head: 'b', number: 2, firstNumber: 2 },
      { head: 'd', number: 3, firstNumber: 4 },
    ])
    expect(readChanges(copies[1]?.changes)).toEqual({ properties: { RuleName: 'r' } })
    expect(await topic.peek()).toEqual([])
  })

  test('SES-10 a copy without a session for a subscription that requires one is a dead letter', async () => {
    const s1 = await messages.subscription('t', 's1', { requiresSession: true })
    await topic.send(
      { messageId: 'a', session: 'x', copies: [copyFor(s1)] },
      { messageId: 'b', copies: [copyFor(s1, { session: 'y' })] },
    )
    expect((await s1.peekMessages()).map(({ head, session }) => [head, session])).toEqual([
      ['b', 'y'],
    ])
    const [letter] = await (await s1.deadLetters()).peekMessages()
    expect(readChanges(letter?.changes).properties).toMatchObject({
      DeadLetterReason: 'Session ID is null',
    })
  })

  test('SET-20 every copy counts, and too many for one transaction are refused', async () => {
    const s1 = await messages.subscription('t', 's1')
    const s2 = await messages.subscription('t', 's2')
    expect(await topic.send({ bytes: 51, copies: [copyFor(s1), copyFor(s2)] })).toBe('full')
    expect(await topic.send({ bytes: 50, copies: [copyFor(s1), copyFor(s2)] })).toEqual([1])
    expect(await topic.send({ messageId: 'b', bytes: 1, copies: [copyFor(s1)] })).toBe('full')
    const many = Array.from({ length: 10_001 }, (_, n) => ({ ...copyFor(s1), subscription: n }))
    expect(new CopyBudget().takes([{ bytes: 0, copies: many.slice(1) }])).toBe(true)
    expect(new CopyBudget().takes([{ bytes: 0, copies: many }])).toBe(false)
    const bytes = 100 * 2 ** 20
    expect(new CopyBudget().takes([{ bytes, copies: many.slice(0, 2) }])).toBe(true)
    expect(new CopyBudget().takes([{ bytes, copies: many.slice(0, 3) }])).toBe(false)
  })

  test('SET-20 copies that only rules have added refuse no sender, and go into transactions of their own', async () => {
    const s1 = await messages.subscription('t', 's1')
    const rules = { bytes: 0, copies: Array.from({ length: 6_000 }, () => copyFor(s1)) }
    const budget = new CopyBudget()
    expect([budget.takes([rules]), budget.isFull]).toEqual([true, false])
    expect([budget.takes([rules]), budget.isFull]).toEqual([true, true])
    const large = { bytes: 0, copies: [copyFor(s1, { changedBytes: 65 * 2 ** 20 })] }
    const other = new CopyBudget()
    expect([other.takes([large]), other.isFull]).toEqual([true, true])
    const bytes = 60
    const more = { messageId: 'b', bytes, copies: [copyFor(s1), copyFor(s1, { changedBytes: 60 })] }
    expect(await topic.send({ ...rules, messageId: 'a' }, more)).toEqual([1, 2])
    expect(await topic.send({ messageId: 'c', bytes: 1, copies: [copyFor(s1)] })).toBe('full')
  })

  test('SET-20 what its subscriptions hold counts towards the topic', async () => {
    const s1 = await messages.subscription('t', 's1')
    const send = (messageId: string, bytes: number) =>
      topic.send({ messageId, bytes, copies: [copyFor(s1)] })
    expect(await send('a', 60)).toEqual([1])
    expect(await send('b', 60)).toBe('full')
    await s1.settle('complete', ...(await s1.receive()))
    expect(await send('b', 60)).toEqual([2])
    await messages.perform<'delete'>({ kind: 'delete', entity: s1.number, when: 'always' })
    expect(await topic.send({ messageId: 'c', bytes: 60 })).toEqual([3])
  })

  test('TOP-07 rules that were judged by an old version are judged again', async () => {
    const s1 = await messages.subscription('t', 's1')
    const version = await topic.version()
    const send = (): Promise<CommandAnswers['send']> =>
      messages.perform<'send'>({ kind: 'send', ...topic.on, version, parcels: [] })
    expect((await send()).kind).toBe('sent')
    const record = await messages.record('t/Subscriptions/s1')
    await messages.perform<'update'>({
      kind: 'update',
      entity: s1.number,
      version: 1,
      definition: { settings: record?.settings ?? fail(), rules: [] },
    })
    expect(await send()).toMatchObject({ reason: 'stale' })
  })

  test('TOP-01 a copy for an entity that is no subscription of the topic is never put there', async () => {
    await messages.topic('u')
    const other = await messages.subscription('u', 's1')
    expect(await topic.send({ copies: [copyFor(other)] })).toBe('stale')
    expect(await other.peek()).toEqual([])
  })
})

describe('messages scheduled to a topic', () => {
  const readDue = async (): Promise<readonly number[]> => {
    const answer = await messages.perform<'readDue'>({ kind: 'readDue', ...topic.on, max: 10 })
    return answer.kind === 'messages' ? answer.messages.map(({ number }) => number) : []
  }
  const activate = async (
    copies: Record<number, readonly MessageCopy[]>,
    version?: number,
  ): Promise<CommandAnswers['activate']> =>
    messages.perform<'activate'>({
      kind: 'activate',
      ...topic.on,
      version: version ?? (await topic.version()),
      messages: Object.entries(copies).map(([number, list]) => ({
        number: Number(number),
        copies: list,
      })),
    })

  test('SCH-09 are read in pieces of 4 MiB, the first in any case', async () => {
    const bytes = 3 * 1024 * 1024
    const large = await messages.topic('large', { maxBytes: 1e9, maxMessageBytes: 1e9 })
    const scheduledMs = messages.startMs + 1000
    await large.send({ bytes: 2 * bytes, scheduledMs }, { bytes, scheduledMs })
    await messages.wait(1000)
    const read = { kind: 'readDue', ...large.on, max: 10 } as const
    const answer = await messages.perform<'readDue'>(read)
    expect(answer).toMatchObject({ kind: 'messages', messages: [{ number: 1 }] })
  })

  test('SCH-09 wait in the topic, and reach the subscriptions at their instants, once', async () => {
    const s1 = await messages.subscription('t', 's1', { defaultTtlMs: 700 })
    const atMs = messages.startMs + 1000
    await topic.send(
      { messageId: 'b', scheduledMs: atMs + 1 },
      { messageId: 'a', scheduledMs: atMs },
    )
    expect(await topic.peek()).toEqual(['b scheduled', 'a scheduled'])
    await messages.wait(999)
    expect(await readDue()).toEqual([])
    expect(await activate({ 2: [copyFor(s1)] })).toEqual({ kind: 'activated' })
    expect(await s1.peek()).toEqual([])
    await messages.wait(2)
    expect(await readDue()).toEqual([2, 1])
    expect(await activate({ 1: [copyFor(s1)], 2: [copyFor(s1)] })).toEqual({ kind: 'activated' })
    expect(await activate({ 1: [copyFor(s1)], 2: [copyFor(s1)] })).toEqual({ kind: 'activated' })
    expect(await s1.peekMessages()).toMatchObject([
      { head: 'a', number: 1, firstNumber: 3, enqueuedMs: atMs, expiresMs: atMs + 700 },
      { head: 'b', number: 2, firstNumber: 4 },
    ])
    expect(await topic.peek()).toEqual([])
    expect(await readDue()).toEqual([])
  })

  test('SCH-09 are judged again when the rules have changed', async () => {
    await topic.send({ scheduledMs: messages.startMs + 1000 })
    await messages.wait(1000)
    const version = await topic.version()
    const s1 = await messages.subscription('t', 's1')
    expect(await activate({ 1: [] }, version)).toMatchObject({ reason: 'stale' })
    await activate({ 1: [copyFor(s1)] })
    expect(heads(await s1.receive())).toEqual(['m'])
  })

  test('SET-20 make room in the topic when they leave it', async () => {
    await topic.send({ messageId: 'a', bytes: 100, scheduledMs: messages.startMs + 1000 })
    expect(await topic.send({ messageId: 'b', bytes: 1 })).toBe('full')
    await messages.wait(1000)
    await activate({ 1: [] })
    expect(await topic.send({ messageId: 'b', bytes: 100 })).toEqual([3])
  })
})

function fail(): never {
  throw new Error('the record is not there')
}
