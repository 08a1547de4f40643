import { Command, InvalidArgumentError } from 'commander'
import type { RuleOptions, RuleProperties, SubscriptionName } from '@tidemark/messaging'
import { subscriptionArgument, type EntityArgument } from '../arguments/parse-entity.ts'
import type { CommandContext } from '../command-context.ts'
import { withBroker, withBrokerOptions, type BrokerOptions } from '../open-broker.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { textTable } from '../output/text-table.ts'

type SubscriptionArgument = EntityArgument & { readonly entity: SubscriptionName }

interface AddOptions extends BrokerOptions {
  readonly sql?: string
  readonly equal?: NonNullable<RuleOptions['filter']>
  readonly action?: string
}

const WHAT = 'database/topic/Subscriptions/name'

const LIST_HELP = `
Examples:
  tidemark topics rules ls shop/news/Subscriptions/all --store ./data`

const ADD_HELP = `
Without a filter, the rule matches every message. Rules count for messages that
are sent from now on.

Examples:
  tidemark topics rules add shop/news/Subscriptions/red reds --store ./data \\
    --sql "colour = 'red'" --action "SET sys.Label = 'seen'"
  tidemark topics rules add shop/news/Subscriptions/red urgent --store ./data \\
    --equal '{"subject":"urgent","applicationProperties":{"colour":"red"}}'`

const REMOVE_HELP = `
A subscription without rules gets no messages.

Examples:
  tidemark topics rules rm shop/news/Subscriptions/red '$Default' \\
    --store ./data`

/** `tidemark topics rules`. */
export function rulesCommand(context: CommandContext): Command {
  return new Command('rules')
    .summary('list, add and remove rules of a subscription')
    .description('Lists, adds and removes the rules of a subscription.')
    .addCommand(listCommand(context))
    .addCommand(addCommand(context))
    .addCommand(removeCommand(context))
}

function listCommand(context: CommandContext): Command {
  const command = new Command('ls')
    .summary('list the rules of a subscription')
    .description('Lists the rules of a subscription.')
    .argument('<subscription>', WHAT, subscriptionArgument)
  return withBrokerOptions(command, 'one JSON line a rule')
    .addHelpText('after', LIST_HELP)
    .action(async ({ database, entity }: SubscriptionArgument, options: BrokerOptions) => {
      const rules = await withBroker(database, options, (broker) => broker.listRules(entity))
      if (options.json === true) {
        for (const rule of rules) await writeJsonLine(context.output, rule)
        return
      }
      const text = rules.length === 0 ? 'no rules\n' : ruleTable(rules)
      await writeText(context.output, text)
    })
}

function ruleTable(rules: readonly RuleProperties[]): string {
  const rows = rules.map(({ name, filter, action }) => [
    name,
    filterText(filter),
    action?.sqlExpression ?? '-',
  ])
  return textTable(['RULE', 'FILTER', 'ACTION'], rows)
}

function filterText(filter: RuleProperties['filter']): string {
  if (filter === undefined) return '-'
  return 'sqlExpression' in filter ? filter.sqlExpression : JSON.stringify(filter)
}

function addCommand(context: CommandContext): Command {
  const command = new Command('add')
    .summary('add a rule to a subscription')
    .description('Adds a rule to a subscription.')
    .argument('<subscription>', WHAT, subscriptionArgument)
    .argument('<rule>', 'name of the rule')
    .option('--sql <filter>', 'an SQL filter')
    .option('--equal <json>', 'an object of properties that must be equal', correlation)
    .option('--action <sql>', 'an SQL action')
  return withBrokerOptions(command, 'print the rule as one JSON line')
    .addHelpText('after', ADD_HELP)
    .action(
      async (
        { database, entity }: SubscriptionArgument,
        name: string,
        { sql, equal, action: sqlAction, ...options }: AddOptions,
        action: Command,
      ) => {
        if (sql !== undefined && equal !== undefined) {
          action.error('error: give --sql or --equal, not both\n')
        }
        const rule: RuleOptions = {
          name,
          filter: sql === undefined ? equal : { sqlExpression: sql },
          action: sqlAction === undefined ? undefined : { sqlExpression: sqlAction },
        }
        const created = await withBroker(database, options, (broker) =>
          broker.createRule(entity, rule),
        )
        if (options.json === true) await writeJsonLine(context.output, created)
        else await writeText(context.output, ruleTable([created]))
      },
    )
}

function removeCommand(context: CommandContext): Command {
  const command = new Command('rm')
    .summary('remove a rule from a subscription')
    .description('Removes a rule from a subscription.')
    .argument('<subscription>', WHAT, subscriptionArgument)
    .argument('<rule>', 'name of the rule')
  return withBrokerOptions(command, 'print the result as one JSON line')
    .addHelpText('after', REMOVE_HELP)
    .action(
      async ({ database, entity }: SubscriptionArgument, rule: string, options: BrokerOptions) => {
        await withBroker(database, options, (broker) => broker.deleteRule(entity, rule))
        if (options.json === true) await writeJsonLine(context.output, { removed: rule })
        else await writeText(context.output, `removed: ${rule}\n`)
      },
    )
}

function correlation(text: string): NonNullable<RuleOptions['filter']> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // The same message as for other values that are no object.
  }
  throw new InvalidArgumentError('It must be a JSON object, such as {"subject":"red"}.')
}
