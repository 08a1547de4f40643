import { expect, test } from 'vitest'
import { runFuzz } from '../run-fuzz.ts'
import { AmqpTarget } from './amqp-target.ts'
import type { BystanderReport } from './amqp-bystander.ts'
import { generateConversation } from './generate-conversation.ts'

// A slice of what `npm run fuzz -- --amqp` does, the same conversations in each run.
const SEED = Number(process.env['SEED'] ?? 1)
const CONVERSATIONS = 600

test('hundreds of broken conversations end nothing but themselves', async () => {
  const reports: BystanderReport[] = []
  const result = await runFuzz({
    seed: SEED,
    from: 0,
    requests: CONVERSATIONS,
    place: {},
    start: (place) => AmqpTarget.start(place, (report) => reports.push(report)),
    report: console.error,
  })
  expect(result.findings).toEqual([])
  expect(result.leaks).toEqual([])
  expect(result.requests).toBe(CONVERSATIONS)
  // A run whose conversations all end in the same way shows nothing.
  for (const status of ['left', 'ended', 'closed']) {
    expect([status, result.statuses.has(status)]).toEqual([status, true])
  }
  expect(reports.flatMap(({ wrong }) => wrong)).toEqual([])
  expect(reports.flatMap(({ arrivalsMs }) => arrivalsMs).length).toBeGreaterThan(0)
})

test('a conversation follows from seed and number alone', () => {
  for (let index = 0; index < 100; index++) {
    expect(generateConversation(7, index)).toEqual(generateConversation(7, index))
  }
  expect(generateConversation(7, 1)).not.toEqual(generateConversation(8, 1))
})
