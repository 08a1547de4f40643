import { systemRandom } from '@tidemark/contracts'
import type { EntityRecord, MessageCopy } from '@tidemark/store/messages'
import { expect, test } from 'vitest'
import { ParsedRules } from '../rules/parsed-rules.ts'
import type { EntityDirectory } from './entity-directory.ts'
import { judgeArrival } from './fan-out.ts'
import { SimulatedBroker } from './simulated-broker.fixture.ts'

/** A topic whose subscriptions have a filter that takes all the work that it may. */
function busyTopic(count: number) {
  const expression = `sys.Label LIKE '%${'a'.repeat(900)}b%'`
  const settings = { deadLettersFilterErrors: true, maxMessageBytes: 1_000_000 }
  const rules = [{ name: 'r', filter: { kind: 'sql', expression }, action: undefined }]
  const subscriptions = Array.from({ length: count }, (_, number) => ({ number, settings, rules }))
  const directory = { subscriptionsOf: () => subscriptions } as unknown as EntityDirectory
  return judgeArrival({ directory, rules: new ParsedRules(), random: systemRandom }, {
    kind: 'topic',
  } as unknown as EntityRecord)
}

test('other work has its turn between the subscriptions that judge one message', async () => {
  const judge = busyTopic(1000)
  let turns = 0
  let copies: readonly MessageCopy[] | undefined
  const judged = judge({ head: { bodyKind: 'json', subject: 'a'.repeat(9000) }, bytes: 1 })
  const done = judged.then((all) => (copies = all))
  while (copies === undefined) {
    turns++
    await new Promise((resolve) => setImmediate(resolve))
  }
  await done
  expect(copies).toHaveLength(1000)
  expect(turns).toBeGreaterThan(5)
})

test('the rules of a listener refuse no sender, and what they may add is bounded', async () => {
  await using space = await SimulatedBroker.open()
  const { broker } = space
  await broker.createTopic('t')
  const rules = Array.from({ length: 1000 }, (_, n) => ({
    name: `r${n}`,
    action: { sqlExpression: 'SET a = 1' },
  }))
  await broker.createSubscription({ topic: 't', subscription: 's' }, { rules })
  await broker.createSender('t').sendMessages({ body: new Uint8Array(400_000) })
  const found = await broker.getSubscriptionRuntimeProperties({ topic: 't', subscription: 's' })
  // The first copy, and two that have room in 1 MiB; the dead letter tells of the others.
  expect(found).toMatchObject({ activeMessageCount: 3, deadLetterMessageCount: 1 })
})
