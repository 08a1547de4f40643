import type { MessageBroker, RuleProperties } from '@tidemark/messaging'
import { entityOfPath } from '../../inspection/entity-path.ts'
import { badRequest, notFound } from '../requests/refusal.ts'
import type { QueueQuery, QueueRow, QueueView } from '../views.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { shownQueue, shownSubscription, shownTopic, type ShownEntity } from './queue-rows.ts'

const MOST_ROWS = 1_000

/** Rejects with ERR_NOT_FOUND. */
export async function readQueueView(
  { brokers, clock }: DashboardContext,
  place: QueueQuery,
): Promise<QueueView> {
  const broker = await brokers.of(place.database)
  const { shown, subscriptions = [], rules = [] } = await readEntity(broker, place)
  return { atMs: clock.wallMs(), head: shown.head, tables: { subscriptions, rules } }
}

interface FoundEntity {
  readonly shown: ShownEntity
  readonly subscriptions?: readonly QueueRow[]
  readonly rules?: QueueView['tables']['rules']
}

async function readEntity(
  broker: MessageBroker,
  { database, entity: path }: QueueQuery,
): Promise<FoundEntity> {
  const entity = checkedEntity(path)
  if (typeof entity !== 'string') {
    const shown = await shownSubscription(broker, database, await broker.getSubscription(entity))
    const rules = await broker.listRules(entity)
    return { shown, rules: rules.map((rule) => ({ id: rule.name, text: ruleText(rule) })) }
  }
  const same = ({ name }: { readonly name: string }): boolean =>
    name.toLowerCase() === entity.toLowerCase()
  const queue = (await broker.listQueues()).find(same)
  if (queue !== undefined) return { shown: await shownQueue(broker, database, queue) }
  const topic = (await broker.listTopics()).find(same)
  if (topic === undefined) throw notFound(`there is no queue or topic ${path}`)
  const subscriptions: QueueRow[] = []
  for (const one of (await broker.listSubscriptions(topic.name)).slice(0, MOST_ROWS)) {
    subscriptions.push((await shownSubscription(broker, database, one)).row)
  }
  return { shown: await shownTopic(broker, database, topic), subscriptions }
}

/** @throws ERR_BAD_REQUEST */
export function checkedEntity(path: string): Exclude<ReturnType<typeof entityOfPath>, undefined> {
  const entity = entityOfPath(path)
  if (entity !== undefined) return entity
  throw badRequest('entity must look like queue, topic or topic/Subscriptions/name')
}

function ruleText({ filter, action }: RuleProperties): string {
  const condition =
    filter === undefined
      ? 'everything'
      : 'sqlExpression' in filter
        ? filter.sqlExpression
        : JSON.stringify(filter)
  return action === undefined ? condition : `${condition}; ${action.sqlExpression}`
}
