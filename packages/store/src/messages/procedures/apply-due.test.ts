import { expect, test } from 'vitest'
import type { EntityPlace } from '../message-rows.ts'
import { entityWith } from '../rules/rows.fixture.ts'
import { applyDue } from './apply-due.ts'
import { TestedMessages } from './tested-messages.fixture.ts'
import { Work } from './work.ts'

const TIME = { storeMs: 5000, lockMs: 4000 }

test.each([true, false])(
  'where nothing is due no row is asked for (sessions: %s)',
  (requiresSession) => {
    const place: EntityPlace = {
      record: entityWith({ requiresSession }),
      next: 10,
      clock: TIME,
      dueMs: 5001,
      expiresMs: 5001,
    }
    const step = applyDue(new Work(TIME), place, 'everything').next()
    expect(step).toEqual({ done: true, value: 'nothing' })
  },
)

test('SET-03 more than a piece of locks that end in a dead-letter queue is applied before it is read', async () => {
  await using messages = await TestedMessages.open()
  const queue = await messages.queue('q', { lockDurationMs: 5000 })
  const dead = await queue.deadLetters()
  const deadLetter = { reason: 'r', description: 'd' }
  const names = Array.from({ length: 450 }, (_, n) => `m${n}`)
  await queue.send(...names.map((messageId) => ({ messageId, deadLetter })))
  expect(await dead.receive(1000)).toHaveLength(450)
  await messages.wait(5000)
  expect(await dead.receive(1000)).toHaveLength(450)
})

test('SES-06 a session expires although something else is due at the same moment', async () => {
  await using messages = await TestedMessages.open()
  const queue = await messages.queue('q', { requiresSession: true, deadLettersExpired: true })
  const scheduledMs = messages.startMs + 1000
  await queue.send({ messageId: 'later', session: 'B', scheduledMs })
  await queue.send(
    { messageId: 'a1', session: 'A', ttlMs: 1000 },
    { messageId: 'a2', session: 'A' },
  )
  const hold = await queue.hold('A')
  await messages.wait(1000)
  expect(await queue.receive(10, hold)).toEqual([])
  expect(await (await queue.deadLetters()).peek()).toEqual(['a1', 'a2'])
})
