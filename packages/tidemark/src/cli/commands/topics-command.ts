import { Command } from 'commander'
import { systemClock } from '@tidemark/contracts'
import type { MessageBroker, RuleProperties } from '@tidemark/messaging'
import {
  entityArgument,
  givenOptions,
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
import { propertyLines, queueTable, type CountedEntity } from '../output/queue-table.ts'
import { rulesCommand } from './rules-command.ts'

interface SetOptions extends BrokerOptions {
  readonly set?: Settings
}

interface DeleteOptions extends BrokerOptions {
  readonly yes?: boolean
}

const WHAT = 'database/topic, or database/topic/Subscriptions/name'

const LIST_HELP = `
The row of a topic is followed by those of its subscriptions. For the columns,
see "tidemark queues ls --help".

Examples:
  tidemark topics ls shop --store ./data
  tidemark topics ls shop --store ./data --json | jq .subscriptions`

const SHOW_HELP = `
Examples:
  tidemark topics show shop/news --store ./data
  tidemark topics show shop/news/Subscriptions/all --store ./data --json`

const CREATE_HELP = `
A new subscription gets every message of its topic, until you change its rules:
see "tidemark topics rules --help". For the names of options, see "tidemark
queues create --help".

Examples:
  tidemark topics create shop/news --store ./data
  tidemark topics create shop/news/Subscriptions/all --store ./data \\
    --set lockDuration=PT30S`

const UPDATE_HELP = `
What you do not name stays as it is.

Examples:
  tidemark topics update shop/news --store ./data --set status=Disabled`

const DELETE_HELP = `
A topic goes with its subscriptions and all of their messages, and cannot be
brought back.

Examples:
  tidemark topics delete shop/news --store ./data --yes`

/** `tidemark topics`: topics of a database, their subscriptions and rules. */
export function topicsCommand(context: CommandContext, finish: Finish): Command {
  return new Command('topics')
    .summary('show and change topics, subscriptions and rules')
    .description('Shows, creates, changes and deletes topics, subscriptions and rules.')
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(createCommand(context))
    .addCommand(updateCommand(context))
    .addCommand(deleteCommand(context, finish))
    .addCommand(rulesCommand(context))
}

function listCommand(context: CommandContext): Command {
  const command = new Command('ls')
    .summary('list topics and subscriptions with what is in them')
    .description('Lists the topics of a database and their subscriptions, with counts.')
    .argument('<database>', 'name of the database')
  return withBrokerOptions(command, 'one JSON line a topic')
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
  const rows: CountedEntity[] = []
  for (const { name } of await broker.listTopics()) {
    const topic = await readTopic(broker, name)
    if (json === true) {
      await writeJsonLine(output, topic)
      continue
    }
    rows.push({ names: [name, '-'], status: topic.status, counts: topic })
    for (const { subscriptionName, status, ...counts } of topic.subscriptions) {
      rows.push({ names: [name, subscriptionName], status, counts })
    }
  }
  if (json === true) return
  const text =
    rows.length === 0
      ? 'no topics\n'
      : queueTable(['TOPIC', 'SUBSCRIPTION'], rows, systemClock.wallMs())
  await writeText(output, text)
}

function showCommand(context: CommandContext): Command {
  const command = new Command('show')
    .summary('show a topic or subscription')
    .description('Shows a topic with its subscriptions, or a subscription with its rules.')
    .argument('<topic>', WHAT, entityArgument)
  return withBrokerOptions(command, 'print one JSON line')
    .addHelpText('after', SHOW_HELP)
    .action(async ({ database, entity }: EntityArgument, options: BrokerOptions) => {
      await withBroker(database, options, async (broker) => {
        const shown =
          typeof entity === 'string'
            ? await readTopic(broker, entity)
            : {
                ...(await broker.getSubscription(entity)),
                ...(await broker.getSubscriptionRuntimeProperties(entity)),
                rules: await broker.listRules(entity),
              }
        if (options.json === true) await writeJsonLine(context.output, shown)
        else await writeText(context.output, propertyLines(shortened(shown)))
      })
    })
}

/** With the counts of the topic and of its subscriptions. */
async function readTopic(broker: MessageBroker, topic: string) {
  const subscriptions = []
  for (const one of await broker.listSubscriptions(topic)) {
    const counts = await broker.getSubscriptionRuntimeProperties({
      topic,
      subscription: one.subscriptionName,
    })
    subscriptions.push({ ...one, ...counts })
  }
  return {
    ...(await broker.getTopic(topic)),
    ...(await broker.getTopicRuntimeProperties(topic)),
    subscriptions,
  }
}

/** Names of what has lines of its own elsewhere. */
function shortened({
  subscriptions,
  rules,
  ...shown
}: {
  readonly subscriptions?: readonly { readonly subscriptionName: string }[]
  readonly rules?: readonly RuleProperties[]
}): object {
  return {
    ...shown,
    subscriptions: subscriptions?.map(({ subscriptionName }) => subscriptionName).join(', '),
    rules: rules?.map(({ name }) => name).join(', '),
  }
}

function createCommand(context: CommandContext): Command {
  const command = new Command('create')
    .summary('create a topic or subscription')
    .description('Creates a topic, and the database if it does not exist, or a subscription.')
    .argument('<topic>', WHAT, entityArgument)
    .option('--set <name=value>', 'an option; repeat it for more', setting)
  return withBrokerOptions(command, 'print what was created as one JSON line')
    .addHelpText('after', CREATE_HELP)
    .action(async ({ database, entity }: EntityArgument, { set, ...options }: SetOptions) => {
      const creates = typeof entity === 'string'
      const created = await withBroker(database, { ...options, creates }, async (broker) =>
        typeof entity === 'string'
          ? broker.createTopic(entity, givenOptions(set))
          : broker.createSubscription(entity, givenOptions(set)),
      )
      if (options.json === true) await writeJsonLine(context.output, created)
      else await writeText(context.output, propertyLines(created))
    })
}

function updateCommand(context: CommandContext): Command {
  const command = new Command('update')
    .summary('change options of a topic or subscription')
    .description('Changes options of a topic or subscription.')
    .argument('<topic>', WHAT, entityArgument)
    .option('--set <name=value>', 'an option; repeat it for more', setting)
  return withBrokerOptions(command, 'print what was changed as one JSON line')
    .addHelpText('after', UPDATE_HELP)
    .action(async ({ database, entity }: EntityArgument, { set, ...options }: SetOptions) => {
      const changed = await withBroker(database, options, async (broker) =>
        typeof entity === 'string'
          ? broker.updateTopic(entity, givenOptions(set))
          : broker.updateSubscription(entity, givenOptions(set)),
      )
      if (options.json === true) await writeJsonLine(context.output, changed)
      else await writeText(context.output, propertyLines(changed))
    })
}

function deleteCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('delete')
    .summary('delete a topic or subscription with its messages')
    .description('Deletes a topic with its subscriptions, or a subscription.')
    .argument('<topic>', WHAT, entityArgument)
    .option('--yes', 'without asking')
  return withBrokerOptions(command, 'print the result as one JSON line')
    .addHelpText('after', DELETE_HELP)
    .action(
      async (
        { database, entity, path }: EntityArgument,
        options: DeleteOptions,
        action: Command,
      ) => {
        const what = `this deletes ${path} with all of its messages`
        if (!(await isConfirmed(what, { yes: options.yes, context, action }))) {
          return finish(EXIT.failure)
        }
        await withBroker(database, options, async (broker) =>
          typeof entity === 'string'
            ? broker.deleteTopic(entity)
            : broker.deleteSubscription(entity),
        )
        if (options.json === true) await writeJsonLine(context.output, { deleted: path })
        else await writeText(context.output, `deleted: ${path}\n`)
      },
    )
}
