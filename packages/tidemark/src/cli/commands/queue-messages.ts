import { createInterface } from 'node:readline'
import { Command, InvalidArgumentError } from 'commander'
import type { Message, MessageSender, ReceivedMessage } from '@tidemark/messaging'
import { wholeNumber } from '../arguments/parse-arguments.ts'
import {
  entityArgument,
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
import { messageLine, messageTable } from '../output/message-table.ts'
import { purgeDeadLetters, purgeMessages } from '../purge-messages.ts'

/** Of messages that a command asks for at once. */
const PIECE = 250

export interface PeekOptions extends BrokerOptions {
  readonly from?: number
  readonly limit: number
}

interface SendOptions extends BrokerOptions {
  readonly id?: string
  readonly session?: string
  readonly subject?: string
  readonly ttl?: number
  readonly at?: Date
  readonly property?: Settings
}

interface PurgeOptions extends BrokerOptions {
  readonly deadLetters?: boolean
  readonly yes?: boolean
}

const PEEK_HELP = `
Shows messages in the order of their numbers, also locked, deferred, scheduled
and expired ones. Looking changes nothing.

Examples:
  tidemark queues peek shop/orders --store ./data --limit 5
  tidemark queues peek shop/orders --store ./data --json | jq .body`

const SEND_HELP = `
A body that is JSON is sent as that value, any other as text. Without a body,
each line of the standard input is a message; all of them get the same options.

Examples:
  tidemark queues send shop/orders '{"id":7}' --store ./data --session a
  jq -c .[] orders.json | tidemark queues send shop/orders --store ./data`

const PURGE_HELP = `
Removes what waits, what is deferred and what is scheduled. Messages that are
locked stay, because a receiver works on them, and so do sessions that are held;
they are counted.

Examples:
  tidemark queues purge shop/orders --store ./data --yes
  tidemark queues purge shop/orders --dead-letters --store ./data --yes`

/** `tidemark queues peek`. */
export function peekCommand(context: CommandContext): Command {
  const command = new Command('peek')
    .summary('look at messages')
    .description('Shows messages of a queue or subscription without receiving them.')
    .argument('<queue>', 'database/queue, or database/topic/Subscriptions/name', entityArgument)
  return withPeekOptions(command)
    .addHelpText('after', PEEK_HELP)
    .action(async (queue: EntityArgument, options: PeekOptions) => {
      await peek(queue, options, { context, isDead: false })
    })
}

export function withPeekOptions(command: Command): Command {
  return withBrokerOptions(
    command
      .option('--from <number>', 'the sequence number to begin at', wholeNumber(0))
      .option('--limit <n>', 'most messages to print', wholeNumber(1), 20),
    'one JSON line a message',
  )
}

/** Prints messages of an entity, or of its dead-letter queue. */
export async function peek(
  { database, entity }: EntityArgument,
  options: PeekOptions,
  { context, isDead }: { readonly context: CommandContext; readonly isDead: boolean },
): Promise<void> {
  await withBroker(database, options, async (broker) => {
    const { from = 0, limit, json } = options
    const found: ReceivedMessage[] = []
    await using receiver = broker.createReceiver(
      entity,
      isDead ? { subQueueType: 'deadLetter' } : {},
    )
    let next = from
    for (let left = limit; left > 0;) {
      const messages = await receiver.peekMessages(Math.min(left, PIECE), {
        fromSequenceNumber: next,
      })
      const last = messages.at(-1)
      if (last === undefined) break
      next = last.sequenceNumber + 1
      left -= messages.length
      if (json !== true) found.push(...messages)
      else for (const one of messages) await writeJsonLine(context.output, messageLine(one))
    }
    if (json === true) return
    const text = found.length === 0 ? 'no messages\n' : messageTable(found, { isDead })
    await writeText(context.output, text)
  })
}

/** `tidemark queues send`. */
export function sendCommand(context: CommandContext): Command {
  const command = new Command('send')
    .summary('send messages')
    .description('Sends messages to a queue or topic.')
    .argument('<queue>', 'database/queue, or database/topic', pathArgument)
    .argument('[body]', 'of the message (default: the lines of the standard input)')
    .option('--id <text>', 'its messageId (default: a random one)')
    .option('--session <text>', 'its sessionId')
    .option('--subject <text>', 'its subject')
    .option('--ttl <ms>', 'its time to live in milliseconds', wholeNumber(1))
    .option('--at <time>', 'when it is enqueued, such as 2026-01-31T09:00:00Z', time)
    .option('--property <name=value>', 'an application property; repeat it for more', setting)
  return withBrokerOptions(command, 'print the result as one JSON line')
    .addHelpText('after', SEND_HELP)
    .action(
      async (
        { database, entity }: EntityArgument & { readonly entity: string },
        body: string | undefined,
        options: SendOptions,
      ) => {
        const sent = await withBroker(database, options, async (broker) => {
          await using sender = broker.createSender(entity)
          if (body === undefined) return await sendLines(sender, options, context)
          await sender.sendMessages(messageOf(body, options))
          return 1
        })
        if (options.json === true) await writeJsonLine(context.output, { sent })
        else await writeText(context.output, `sent: ${sent}\n`)
      },
    )
}

async function sendLines(
  sender: MessageSender,
  options: SendOptions,
  { input }: CommandContext,
): Promise<number> {
  let sent = 0
  let batch = await sender.createMessageBatch()
  for await (const line of createInterface({ input })) {
    if (line === '') continue
    const message = messageOf(line, options)
    if (batch.tryAddMessage(message)) continue
    await sender.sendMessages(batch)
    sent += batch.count
    batch = await sender.createMessageBatch()
    if (batch.tryAddMessage(message)) continue
    // Too large for a batch of its own: this tells so.
    await sender.sendMessages(message)
    sent += 1
  }
  if (batch.count > 0) await sender.sendMessages(batch)
  return sent + batch.count
}

function messageOf(body: string, options: SendOptions): Message {
  const { id, session, subject, ttl, at, property } = options
  return {
    body: bodyOf(body),
    messageId: id,
    sessionId: session,
    subject,
    timeToLive: ttl,
    scheduledEnqueueTimeUtc: at,
    applicationProperties: property === undefined ? undefined : givenOptions(property),
  }
}

function bodyOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return text
  }
}

function time(text: string): Date {
  const date = new Date(text)
  if (!Number.isNaN(date.getTime())) return date
  throw new InvalidArgumentError('It must be a time such as 2026-01-31T09:00:00Z.')
}

/** `tidemark queues purge`. */
export function purgeCommand(context: CommandContext, finish: Finish): Command {
  const command = new Command('purge')
    .summary('remove all messages')
    .description('Removes the messages of a queue or subscription for good.')
    .argument('<queue>', 'database/queue, or database/topic/Subscriptions/name', entityArgument)
    .option('--dead-letters', 'those in its dead-letter queue instead')
    .option('--yes', 'without asking')
  return withBrokerOptions(command, 'print the result as one JSON line')
    .addHelpText('after', PURGE_HELP)
    .action(
      async (
        { database, entity, path }: EntityArgument,
        options: PurgeOptions,
        action: Command,
      ) => {
        const which = options.deadLetters === true ? 'dead letters' : 'messages'
        const what = `this removes all ${which} of ${path} for good`
        if (!(await isConfirmed(what, { yes: options.yes, context, action }))) {
          return finish(EXIT.failure)
        }
        const purge = options.deadLetters === true ? purgeDeadLetters : purgeMessages
        const purged = await withBroker(database, options, (broker) => purge(broker, entity))
        if (options.json === true) await writeJsonLine(context.output, purged)
        else await writeText(context.output, `purged: ${purged.purged}, left: ${purged.left}\n`)
      },
    )
}
