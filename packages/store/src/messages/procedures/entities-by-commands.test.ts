import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { EntityRecord, NewEntity } from '../entities.ts'
import { SETTINGS } from '../rules/rows.fixture.ts'
import { kindOf, TestedMessages, type Entity } from './tested-messages.fixture.ts'

let messages: TestedMessages
beforeEach(async () => {
  messages = await TestedMessages.open()
})
afterEach(() => messages[Symbol.asyncDispose]())

const PERIOD = 300_000
const idle = { autoDeleteOnIdleMs: PERIOD }

const create = (...entities: readonly Partial<NewEntity>[]) =>
  messages.perform<'create'>({
    kind: 'create',
    entities: entities.map((entity) => ({
      kind: 'queue' as const,
      path: 'q',
      settings: SETTINGS,
      rules: [],
      ...entity,
    })),
  })

const paths = async (): Promise<readonly string[]> =>
  (await messages.engine.readCatalog()).entities.map(({ path }) => path)

const remove = (entity: Entity, when: 'always' | 'idle' = 'always'): Promise<string> =>
  messages.perform<'delete'>({ kind: 'delete', entity: entity.number, when }).then(kindOf)

const recordOf = async (entity: Entity): Promise<EntityRecord> => {
  const record = await messages.record(entity.path)
  if (record === undefined) throw new Error(`${entity.path} is not there`)
  return record
}

describe('creating', () => {
  test('makes dead-letter queues, and subscriptions of a topic in the same command', async () => {
    const answer = await create(
      { kind: 'topic', path: 'T' },
      { kind: 'subscription', path: 'T/Subscriptions/s', topic: 't' },
      { path: 'q' },
    )
    expect(answer).toMatchObject({
      kind: 'created',
      entities: [{ path: 'T' }, { path: 'T/Subscriptions/s' }, { path: 'q' }],
    })
    expect(await paths()).toEqual([
      'T',
      'T/Subscriptions/s',
      'T/Subscriptions/s/$DeadLetterQueue',
      'q',
      'q/$DeadLetterQueue',
    ])
    const [topic, subscription, dead] = (await messages.engine.readCatalog()).entities
    expect(subscription?.parent).toBe(topic?.number)
    expect(dead).toMatchObject({ kind: 'deadLetter', parent: subscription?.number })
  })

  test('creates all of them, or none', async () => {
    await create({ path: 'a' })
    expect(await create({ path: 'b' }, { path: 'A' })).toEqual({ kind: 'exists', path: 'A' })
    expect(await create({ path: 'b' }, { kind: 'subscription', topic: 'b' })).toEqual({
      kind: 'missing',
      path: 'b',
    })
    expect(await create({ path: 'b', settings: { ...SETTINGS, forwardTo: 'c' } })).toEqual({
      kind: 'missing',
      path: 'c',
    })
    expect(await paths()).toEqual(['a', 'a/$DeadLetterQueue'])
    const settings = { ...SETTINGS, forwardTo: 'A', forwardDeadLettersTo: 'B' }
    expect((await create({ path: 'b' }, { path: 'c', settings })).kind).toBe('created')
  })

  test('TOP-07 a new subscription is a new version of its topic', async () => {
    const topic = await messages.topic('t')
    const before = await topic.version()
    await messages.subscription('t', 's')
    expect(await topic.version()).toBeGreaterThan(before)
  })
})

describe('updating', () => {
  const update = async (entity: Entity, settings: object, version?: number): Promise<string> => {
    const record = await recordOf(entity)
    const answer = await messages.perform<'update'>({
      kind: 'update',
      entity: entity.number,
      version: version ?? record.version,
      definition: { settings: { ...record.settings, ...settings }, rules: [] },
    })
    return kindOf(answer)
  }

  test('is refused after another one, for the kind of receivers, and for dead-letter queues', async () => {
    const queue = await messages.queue('q')
    await update(queue, { maxDeliveryCount: 3 })
    expect(await update(queue, { maxDeliveryCount: 4 }, 1)).toBe('stale')
    expect(await update(queue, { requiresSession: true })).toBe('notAllowed')
    expect(await update(await queue.deadLetters(), {})).toBe('notAllowed')
    expect((await recordOf(queue)).settings.maxDeliveryCount).toBe(3)
  })

  test('gives the dead-letter queue the lock duration of its owner', async () => {
    const queue = await messages.queue('q', { lockDurationMs: 5000, maxDeliveryCount: 1 })
    await update(queue, { lockDurationMs: 7000 })
    await queue.send({ messageId: 'a' })
    await queue.settle('abandon', ...(await queue.receive()))
    const [letter] = await (await queue.deadLetters()).receive()
    expect(letter?.lockedUntilMs).toBe(messages.startMs + 7000)
  })

  test('TMP-09 is activity, of a subscription also for its topic', async () => {
    const topic = await messages.topic('t', idle)
    const subscription = await messages.subscription('t', 's', idle)
    await messages.wait(PERIOD - 1)
    await update(subscription, { maxDeliveryCount: 3 })
    await messages.wait(1)
    expect(await remove(subscription, 'idle')).toBe('inUse')
    expect(await remove(topic, 'idle')).toBe('inUse')
  })
})

describe('deleting', () => {
  test('TMP-12 rows of what was deleted are removed in pieces', async () => {
    const queue = await messages.queue('q')
    await queue.send(...Array.from({ length: 600 }, (_, n) => ({ messageId: `${n}` })))
    await remove(queue)
    const more: boolean[] = []
    for (let round = 0; round < 20; round += 1) {
      const answer = await messages.perform<'purge'>({ kind: 'purge' })
      more.push(answer.more)
      if (!answer.more) break
    }
    expect(more.length).toBeGreaterThan(1)
    expect(more.at(-1)).toBe(false)
  })

  test('a dead-letter queue is never deleted by itself', async () => {
    const queue = await messages.queue('q')
    expect(await remove(await queue.deadLetters())).toBe('notAllowed')
  })

  test('TOP-07 of a subscription is a new version of its topic', async () => {
    const topic = await messages.topic('t')
    const subscription = await messages.subscription('t', 's')
    const before = await topic.version()
    await remove(subscription)
    expect(await topic.version()).toBeGreaterThan(before)
  })
})

describe('entities that delete themselves', () => {
  test('TMP-10 a refused operation is activity, too, and one on the dead-letter queue', async () => {
    const queue = await messages.queue('q', { ...idle, status: 'Disabled' })
    await messages.wait(PERIOD - 1)
    expect(await queue.send({})).toBe('disabled')
    await messages.wait(PERIOD - 1)
    await (await queue.deadLetters()).peek()
    await messages.wait(PERIOD - 1)
    expect(await remove(queue, 'idle')).toBe('inUse')
  })

  test('TMP-05 TMP-06 the period begins anew when it is enqueued, carried out or not', async () => {
    const scheduledMs = messages.startMs + 2 * PERIOD
    const queues = [
      await messages.queue('q', idle),
      await messages.queue('r', idle),
      await messages.topic('t', idle),
      await messages.topic('u', idle),
    ]
    for (const queue of queues) await queue.send({ messageId: 'a', scheduledMs })
    await messages.wait(2.5 * PERIOD)
    const quiet = { entity: queues[0]?.number ?? 0, touch: false }
    await messages.perform<'applyDue'>({ kind: 'applyDue', ...quiet, listening: 'nobody' })
    const activated = queues[3] ?? fail()
    await messages.perform<'activate'>({
      kind: 'activate',
      entity: activated.number,
      touch: false,
      version: await activated.version(),
      messages: [{ number: 1, copies: [] }],
    })
    for (const queue of queues) expect(await remove(queue, 'idle')).toBe('inUse')
    await messages.wait(0.5 * PERIOD - 1)
    for (const queue of queues) expect(await remove(queue, 'idle')).toBe('inUse')
    await messages.wait(1)
    for (const queue of queues) expect(await remove(queue, 'idle')).toBe('deleted')
  })

  test('TMP-06 TMP-07 operations on a subscription are activity of its topic, arriving messages not of it', async () => {
    const topic = await messages.topic('t', idle)
    const subscription = await messages.subscription('t', 's', idle)
    await messages.wait(PERIOD - 1)
    await topic.send({ copies: [] })
    await messages.wait(1)
    expect(await remove(topic, 'idle')).toBe('inUse')
    expect(await remove(subscription, 'idle')).toBe('deleted')
    const other = await messages.subscription('t', 'other', idle)
    await messages.wait(PERIOD - 1)
    await other.peek()
    await messages.wait(PERIOD - 1)
    expect(await remove(topic, 'idle')).toBe('inUse')
    await messages.wait(1)
    expect(await remove(topic, 'idle')).toBe('deleted')
    expect(await paths()).toEqual([])
  })

  test('TMP-06 creating, deleting and dead letters of a subscription are activity of its topic', async () => {
    const topic = await messages.topic('t', idle)
    const stays = async (): Promise<void> => {
      await messages.wait(PERIOD - 1)
      expect(await remove(topic, 'idle')).toBe('inUse')
    }
    await messages.wait(PERIOD - 1)
    const subscription = await messages.subscription('t', 's')
    await stays()
    await (await subscription.deadLetters()).peek()
    await stays()
    await remove(subscription)
    await stays()
  })

  test('TMP-07 a subscription that deletes itself is no activity of its topic', async () => {
    const topic = await messages.topic('t', idle)
    const subscription = await messages.subscription('t', 's', { autoDeleteOnIdleMs: PERIOD / 2 })
    await messages.wait(PERIOD - 1)
    expect(await remove(subscription, 'idle')).toBe('deleted')
    await messages.wait(1)
    expect(await remove(topic, 'idle')).toBe('deleted')
  })
})

function fail(): never {
  throw new Error('it is not there')
}
