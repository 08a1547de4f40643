import { Command } from 'commander'
import {
  givenOptions,
  pathArgument,
  setting,
  type EntityArgument,
  type Settings,
} from '../arguments/parse-entity.ts'
import type { CommandContext } from '../command-context.ts'
import { isConfirmed } from '../confirm.ts'
import { EXIT } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { withBroker, withBrokerOptions, type BrokerOptions } from '../open-broker.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { propertyLines } from '../output/queue-table.ts'
import { readJsonFile } from '../read-json-file.ts'

type QueueArgument = EntityArgument & { readonly entity: string }

interface SetOptions extends BrokerOptions {
  readonly set?: Settings
}

interface DeleteOptions extends BrokerOptions {
  readonly yes?: boolean
}

const SET_HELP = `
--set takes the names of the options of createQueue: lockDuration,
maxDeliveryCount, defaultMessageTimeToLive, autoDeleteOnIdle,
deadLetteringOnMessageExpiration, expires, requiresSession,
requiresDuplicateDetection, duplicateDetectionHistoryTimeWindow, forwardTo,
forwardDeadLetteredMessagesTo, maxSizeInMegabytes, maxMessageSizeInKilobytes,
status, userMetadata; and of a subscription
deadLetteringOnFilterEvaluationExceptions. Durations are milliseconds or ISO
8601.
`

const CREATE_HELP = `${SET_HELP}
Examples:
  tidemark queues create shop/orders --store ./data \\
    --set lockDuration=PT30S --set requiresSession=true`

const UPDATE_HELP = `${SET_HELP}
What you do not name stays as it is. forwardTo= without a value ends the
forwarding; P10675199DT2H48M5.4775807S means never.

Examples:
  tidemark queues update shop/orders --store ./data --set status=SendDisabled`

const DELETE_HELP = `
The queue goes with all of its messages and its dead-letter queue, and cannot be
brought back.

Examples:
  tidemark queues delete shop/orders --store ./data --yes`

const APPLY_HELP = `
The file is that of the official Service Bus emulator. Either all entities are
created that do not exist, or, if anything is wrong, none. An entity that exists
must have what the file says of it; it is never changed.

Examples:
  tidemark queues apply shop Config.json --store ./data`

/** `tidemark queues create`. */
export function createQueueCommand(context: CommandContext): Command {
  const command = new Command('create')
    .summary('create a queue')
    .description('Creates a queue, and the database if it does not exist.')
    .argument('<queue>', 'database/queue', pathArgument)
    .option('--set <name=value>', 'an option; repeat it for more', setting)
  return withBrokerOptions(command, 'print the queue as one JSON line')
    .addHelpText('after', CREATE_HELP)
    .action(async ({ database, entity }: QueueArgument, { set, ...options }: SetOptions) => {
      const created = await withBroker(database, { ...options, creates: true }, (broker) =>
        broker.createQueue(entity, givenOptions(set)),
      )
      if (options.json === true) await writeJsonLine(context.output, created)
      else await writeText(context.output, propertyLines(created))
    })
}

/** `tidemark queues update`. */
export function updateQueueCommand(context: CommandContext): Command {
  const command = new Command('update')
    .summary('change options of a queue')
    .description('Changes options of a queue.')
    .argument('<queue>', 'database/queue', pathArgument)
    .option('--set <name=value>', 'an option; repeat it for more', setting)
  return withBrokerOptions(command, 'print the queue as one JSON line')
    .addHelpText('after', UPDATE_HELP)
    .action(async ({ database, entity }: QueueArgument, { set, ...options }: SetOptions) => {
      const changed = await withBroker(database, options, (broker) =>
        broker.updateQueue(entity, givenOptions(set)),
      )
      if (options.json === true) await writeJsonLine(context.output, changed)
      else await writeText(context.output, propertyLines(changed))
    })
}

/** `tidemark queues delete`. */
export function deleteQueueCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('delete')
    .summary('delete a queue with its messages')
    .description('Deletes a queue with its messages and its dead-letter queue.')
    .argument('<queue>', 'database/queue', pathArgument)
    .option('--yes', 'without asking')
  return withBrokerOptions(command, 'print the result as one JSON line')
    .addHelpText('after', DELETE_HELP)
    .action(
      async ({ database, entity }: QueueArgument, options: DeleteOptions, action: Command) => {
        const what = `this deletes the queue ${entity} with all of its messages`
        if (!(await isConfirmed(what, { yes: options.yes, context, action })))
          return finish(EXIT.failure)
        await withBroker(database, options, (broker) => broker.deleteQueue(entity))
        if (options.json === true) await writeJsonLine(context.output, { deleted: entity })
        else await writeText(context.output, `deleted: ${entity}\n`)
      },
    )
}

/** `tidemark queues apply`. */
export function applyCommand(context: CommandContext): Command {
  const command = new Command('apply')
    .summary('create the entities of a Config.json')
    .description('Creates queues, topics, subscriptions and rules of a Config.json.')
    .argument('<database>', 'name of the database; created if it does not exist')
    .argument('<file>', 'the configuration')
  return withBrokerOptions(command, 'print the result as one JSON line')
    .addHelpText('after', APPLY_HELP)
    .action(async (database: string, file: string, options: BrokerOptions) => {
      const config = await readJsonFile(file)
      await withBroker(database, { ...options, creates: true }, (broker) =>
        broker.applyConfig(config),
      )
      if (options.json === true) await writeJsonLine(context.output, { applied: file })
      else await writeText(context.output, `applied: ${file}\n`)
    })
}
