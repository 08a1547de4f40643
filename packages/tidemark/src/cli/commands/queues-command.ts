import { Command } from 'commander'
import { systemClock } from '@tidemark/contracts'
import type { MessageBroker } from '@tidemark/messaging'
import { entityArgument, type EntityArgument } from '../arguments/parse-entity.ts'
import type { CommandContext } from '../command-context.ts'
import type { Finish } from '../finish.ts'
import { withBroker, withBrokerOptions, type BrokerOptions } from '../open-broker.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { propertyLines, queueTable } from '../output/queue-table.ts'
import {
  applyCommand,
  createQueueCommand,
  deleteQueueCommand,
  updateQueueCommand,
} from './change-queues.ts'
import { deadLetterQueueCommand } from './queue-dead-letters.ts'
import { peekCommand, purgeCommand, sendCommand } from './queue-messages.ts'

const COUNTS_HELP = `
ACTIVE are the messages that wait or are locked, LOCKED those of them that a
receiver has, EXPIRED those of them whose time to live has passed and that no
listener has made leave yet. DEAD are those in the dead-letter queue. OLDEST is
the age of the oldest message.
`

const LIST_HELP = `${COUNTS_HELP}
Examples:
  tidemark queues ls shop --store ./data
  tidemark queues ls shop --store ./data --json | jq .activeMessageCount`

const SHOW_HELP = `
Examples:
  tidemark queues show shop/orders --store ./data
  tidemark queues show shop/news/Subscriptions/all --store ./data --json`

/** `tidemark queues`: queues of a database, and what is in them. */
export function queuesCommand(context: CommandContext, finish: Finish): Command {
  return new Command('queues')
    .summary('show and change queues, look at their messages')
    .description('Shows, creates and changes queues, sends messages to them and looks into them.')
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(createQueueCommand(context))
    .addCommand(updateQueueCommand(context))
    .addCommand(deleteQueueCommand(context, finish))
    .addCommand(applyCommand(context))
    .addCommand(peekCommand(context))
    .addCommand(sendCommand(context))
    .addCommand(purgeCommand(context, finish))
    .addCommand(deadLetterQueueCommand(context, finish))
}

function listCommand(context: CommandContext): Command {
  const command = new Command('ls')
    .summary('list queues with what is in them')
    .description('Lists the queues of a database with counts of their messages.')
    .argument('<database>', 'name of the database')
  return withBrokerOptions(command, 'one JSON line a queue')
    .addHelpText('after', LIST_HELP)
    .action(async (database: string, options: BrokerOptions) => {
      await withBroker(database, options, (broker) => list(broker, options, context))
    })
}

async function list(
  broker: MessageBroker,
  { json }: BrokerOptions,
  { output }: CommandContext,
): Promise<void> {
  const queues = []
  for (const queue of await broker.listQueues()) {
    queues.push({ queue, counts: await broker.getQueueRuntimeProperties(queue.name) })
  }
  if (json === true) {
    for (const { queue, counts } of queues) await writeJsonLine(output, { ...queue, ...counts })
    return
  }
  if (queues.length === 0) {
    await writeText(output, 'no queues\n')
    return
  }
  const rows = queues.map(({ queue: { name, status }, counts }) => ({
    names: [name],
    status,
    counts,
  }))
  await writeText(output, queueTable(['QUEUE'], rows, systemClock.wallMs()))
}

function showCommand(context: CommandContext): Command {
  const command = new Command('show')
    .summary('show a queue or subscription')
    .description('Shows the properties and counts of a queue or subscription.')
    .argument('<queue>', 'database/queue, or database/topic/Subscriptions/name', entityArgument)
  return withBrokerOptions(command, 'print one JSON line')
    .addHelpText('after', SHOW_HELP)
    .action(async ({ database, entity }: EntityArgument, options: BrokerOptions) => {
      await withBroker(database, options, async (broker) => {
        const shown =
          typeof entity === 'string'
            ? {
                ...(await broker.getQueue(entity)),
                ...(await broker.getQueueRuntimeProperties(entity)),
              }
            : {
                ...(await broker.getSubscription(entity)),
                ...(await broker.getSubscriptionRuntimeProperties(entity)),
              }
        if (options.json === true) await writeJsonLine(context.output, shown)
        else await writeText(context.output, propertyLines(shown))
      })
    })
}
