import { Command } from 'commander'
import { wholeNumber } from '../arguments/parse-arguments.ts'
import { entityArgument, type EntityArgument } from '../arguments/parse-entity.ts'
import type { CommandContext } from '../command-context.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { withBroker, withBrokerOptions, type BrokerOptions } from '../open-broker.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { oneLine } from '../output/report-error.ts'
import { peek, withPeekOptions, type PeekOptions } from './queue-messages.ts'

interface RedriveOptions extends BrokerOptions {
  readonly all?: boolean
}

const LIST_HELP = `
Examples:
  tidemark queues dlq ls shop/orders --store ./data
  tidemark queues dlq ls shop/orders --store ./data --json \\
    | jq .deadLetterReason`

const REDRIVE_HELP = `
Each message moves back to the queue in one step, exactly once. There it is a
new message: it goes behind those that wait, its time to live counts again, it
has no deliveries. A message that is locked stays.

Examples:
  tidemark queues dlq redrive shop/orders --all --store ./data
  tidemark queues dlq redrive shop/orders 17 18 --store ./data`

/** `tidemark queues dlq`: what could not be delivered. */
export function deadLetterQueueCommand(context: CommandContext, finish: Finish): Command {
  return new Command('dlq')
    .summary('list dead letters of a queue, send them back')
    .description('Lists the messages in the dead-letter queue of a queue, sends them back.')
    .addCommand(listCommand(context))
    .addCommand(redriveCommand(context, finish))
}

function listCommand(context: CommandContext): Command {
  const command = new Command('ls')
    .summary('list dead letters')
    .description('Lists messages of the dead-letter queue, in the order of their numbers.')
    .argument('<queue>', 'database/queue, or database/topic/Subscriptions/name', entityArgument)
  return withPeekOptions(command)
    .addHelpText('after', LIST_HELP)
    .action(async (queue: EntityArgument, options: PeekOptions) => {
      await peek(queue, options, { context, isDead: true })
    })
}

function redriveCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('redrive')
    .summary('send dead letters back')
    .description('Moves messages from the dead-letter queue back to their queue.')
    .argument('<queue>', 'database/queue, or database/topic/Subscriptions/name', entityArgument)
    .argument('[numbers...]', 'of messages, as "dlq ls" prints them')
    .option('--all', 'all messages that are there now')
  return withBrokerOptions(command, 'print the result as one JSON line')
    .addHelpText('after', REDRIVE_HELP)
    .action(
      async (
        { database, entity }: EntityArgument,
        given: readonly string[],
        options: RedriveOptions,
        action: Command,
      ) => {
        const sequenceNumbers = chosen(given, options, action)
        const redriven = await withBroker(database, options, (broker) =>
          broker.redriveDeadLetters(entity, { sequenceNumbers }),
        )
        const done = new Set(redriven)
        const missing = (sequenceNumbers ?? []).filter((number) => !done.has(number))
        if (options.json === true) await writeJsonLine(context.output, { redriven, missing })
        else await writeText(context.output, `redriven: ${redriven.length}\n`)
        finish(report(missing, context))
      },
    )
}

/** Undefined: all. */
function chosen(
  given: readonly string[],
  { all }: RedriveOptions,
  action: Command,
): readonly number[] | undefined {
  if (all === true && given.length > 0) {
    action.error('error: give numbers of messages or --all, not both\n')
  }
  if (all !== true && given.length === 0) {
    action.error('error: give numbers of messages, or --all\n')
  }
  return all === true ? undefined : given.map((text) => numberOf(text, action))
}

function numberOf(text: string, action: Command): number {
  try {
    return wholeNumber(1)(text)
  } catch {
    return action.error(`error: ${text} is no number of a message\n`)
  }
}

/** A missing message is a failure: you named it, so you expect it to move. */
function report(missing: readonly number[], { errors }: CommandContext): ExitCode {
  if (missing.length === 0) return EXIT.ok
  const message = `ERR_MESSAGE_NOT_FOUND: not there, locked, or without room: ${missing.join(', ')}`
  errors.write(`tidemark: ${oneLine(message)}\n`)
  return EXIT.failure
}
