import type { MessageBroker, Message } from '@tidemark/messaging'
import type { Measure, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { figureName, Ground, type GroundEngine } from '../ground.ts'
import { MessageBodies, type Body } from '../message-bodies.ts'
import { openBenchBroker } from '../open-broker.ts'
import { rateOfCallers } from '../queue-rates.ts'

const SUBSCRIPTIONS = 10
const CALLERS = 64
const TOPIC = 'orders'
const QUEUE = 'orders-alone'
const REGIONS = ['eu', 'us'] as const

/** Sends to a topic with ten subscriptions, half of whose SQL filters match each message. */
export function topicScenario(engine: GroundEngine): Scenario {
  const sends = figureName(engine, 'topic10')
  const copies = `${sends}.copies`
  const measures: readonly Measure[] = [
    { name: sends, unit: 'messages/s', rawIs: 'single sends to a queue, as many callers' },
    { name: copies, unit: 'copies/s', rawIs: 'the same: each of its messages is one copy' },
  ]
  return {
    name: `${engine === 'postgres' ? 'postgres-' : ''}messages-topic`,
    measures,
    async prepare({ folder }): Promise<PreparedScenario> {
      const stack = new AsyncDisposableStack()
      const ground = stack.use(await Ground.of(engine, folder))
      const { broker } = stack.use(await openBenchBroker(await ground.newPlace()))
      await createEntities(broker)
      const toTopic = broker.createSender<Body>(TOPIC)
      const toQueue = broker.createSender<Body>(QUEUE)
      const messages = new FilteredMessages()
      let sent = 0
      const rate = (sender: typeof toTopic, seconds: number): Promise<number> =>
        rateOfCallers(
          async () => {
            await sender.sendMessages(messages.one())
            sent++
            return 1
          },
          { callers: CALLERS, seconds },
        )
      return {
        async ours(seconds) {
          const before = await copiesOf(broker)
          sent = 0
          const perSecond = await rate(toTopic, seconds)
          const made = (await copiesOf(broker)) - before
          return { [sends]: perSecond, [copies]: perSecond * (made / sent) }
        },
        async raw(seconds) {
          const perSecond = await rate(toQueue, seconds)
          return { [sends]: perSecond, [copies]: perSecond }
        },
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}

async function createEntities(broker: MessageBroker): Promise<void> {
  const roomy = { maxSizeInMegabytes: 81_920 }
  await broker.createQueue(QUEUE, roomy)
  await broker.createTopic(TOPIC, roomy)
  for (let index = 0; index < SUBSCRIPTIONS; index++) {
    const region = REGIONS[index % REGIONS.length]
    const sqlExpression = `region = '${region}' AND (total >= 1000 OR sys.Label LIKE 'urgent%')`
    await broker.createSubscription(
      { topic: TOPIC, subscription: `subscription-${index}` },
      { rules: [{ name: 'mine', filter: { sqlExpression } }] },
    )
  }
}

async function copiesOf(broker: MessageBroker): Promise<number> {
  let sum = 0
  for (const { subscriptionName } of await broker.listSubscriptions(TOPIC)) {
    const name = { topic: TOPIC, subscription: subscriptionName }
    sum += (await broker.getSubscriptionRuntimeProperties(name)).activeMessageCount
  }
  return sum
}

class FilteredMessages {
  readonly #bodies = new MessageBodies()
  #next = 0

  one(): Message<Body> {
    const body = this.#bodies.one()
    const region = REGIONS[this.#next++ % REGIONS.length] ?? 'eu'
    return { body, subject: 'order', applicationProperties: { region, total: body.total } }
  }
}
