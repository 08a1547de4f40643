import { assertNever } from '@tidemark/contracts/internal'
import type { Disposition, NewMessage, NotDone, SessionHold } from '@tidemark/store/messages'
import { MessageNotFoundError } from '../errors/message-not-found-error.ts'
import { MessageSizeExceededError, QuotaExceededError } from '../errors/messaging-limit-errors.ts'
import type { BrokerContext } from './broker-context.ts'
import type { EntityCommands, PreparedCommand } from './entity-commands.ts'
import { sendRefusal } from './send-refusals.ts'
import { settleRefusal } from './settle-refusals.ts'

/** What a client does in a transaction, in an entity. */
export type TransactionStep = { readonly path: string } & (
  | { readonly kind: 'send'; readonly messages: readonly NewMessage[] }
  | { readonly kind: 'settle'; readonly disposition: Disposition }
  | { readonly kind: 'cancel'; readonly numbers: readonly number[] }
  | {
      readonly kind: 'setSessionState'
      readonly hold: SessionHold
      readonly state: Uint8Array | undefined
    }
)

interface Prepared extends PreparedCommand {
  readonly commands: EntityCommands
}

/** That of locks: sessions, messages, counters of entities. What is settled has gone before there must be room for what is sent. */
const ORDER = ['setSessionState', 'settle', 'cancel', 'send'] as const

/**
 * Does all of it in one transaction of the store, or nothing (TXN-01). Rejects with the error of the first that could not be done.
 */
export async function commitTogether(
  context: BrokerContext,
  steps: readonly TransactionStep[],
): Promise<void> {
  if (steps.length === 0) return
  for (let attempt = 1; ; attempt++) {
    const prepared = await prepareAll(context, steps)
    const commands = prepared.map(({ command }) => command)
    const { answer } = await context.perform<'together'>({ kind: 'together', commands })
    if (answer.kind === 'done') {
      for (const one of prepared) one.commands.carriedOut(one)
      return
    }
    // An activity, successful or not (TMP-10), and what the commands stamped was undone.
    for (const one of prepared) if (one.command.touch) await one.commands.perform('touch', {})
    const failed = prepared[answer.index]!
    if (answer.answer.kind !== 'refused' && answer.answer.kind !== 'again') {
      throw refusal(failed, answer.answer)
    }
    await failed.commands.prepareAgain(answer.answer, failed, attempt)
  }
}

async function prepareAll(
  context: BrokerContext,
  steps: readonly TransactionStep[],
): Promise<readonly Prepared[]> {
  const paths = Map.groupBy(steps, ({ path }) => path.toLowerCase())
  const prepared = await Promise.all(
    [...paths.values()].map(async (group) => {
      const commands = context.commands(group[0]!.path)
      const made = await Promise.all(commandsOf(commands, group))
      return made.map((one): Prepared => ({ ...one, commands }))
    }),
  )
  const place = ({ command: { kind } }: Prepared): number => ORDER.indexOf(kind)
  return prepared
    .flat()
    .toSorted((a, b) => place(a) - place(b) || a.command.entity - b.command.entity)
}

/** Of the steps in one entity, which go together where they can. */
function commandsOf(
  commands: EntityCommands,
  steps: readonly TransactionStep[],
): readonly Promise<PreparedCommand>[] {
  const made: Promise<PreparedCommand>[] = []
  const messages: NewMessage[] = []
  const dispositions: Disposition[] = []
  const numbers: number[] = []
  for (const step of steps) {
    switch (step.kind) {
      case 'send':
        messages.push(...step.messages)
        break
      case 'settle':
        dispositions.push(step.disposition)
        break
      case 'cancel':
        numbers.push(...step.numbers)
        break
      case 'setSessionState': {
        const { hold, state } = step
        made.push(commands.prepare('setSessionState', { hold, state }))
        break
      }
      default:
        assertNever(step)
    }
  }
  if (messages.length > 0) made.push(commands.prepareSend(messages))
  if (dispositions.length > 0) made.push(commands.prepare('settle', { dispositions }))
  if (numbers.length > 0) made.push(commands.prepare('cancel', { numbers }))
  return made
}

/** Of a command that was carried out, but not as a whole. */
function refusal(
  { record }: Prepared,
  answer: Exclude<NotDone['answer'], { readonly kind: 'refused' | 'again' }>,
): Error {
  const { path: entityPath, settings } = record
  switch (answer.kind) {
    case 'sent':
      for (const parcel of answer.parcels) {
        if (parcel.kind !== 'sent') return sendRefusal(record, parcel)
      }
      break
    case 'settled':
      for (const each of answer.answers) if (each !== 'settled') return settleRefusal(record, each)
      break
    case 'notFound':
      return new MessageNotFoundError({ entityPath, sequenceNumber: answer.number })
    case 'full':
      return new QuotaExceededError({ entityPath, maxBytes: settings.maxBytes })
    case 'tooLarge':
      return new MessageSizeExceededError({ entityPath, maxBytes: settings.maxMessageBytes })
    default:
  }
  throw new Error(`a command that was not done was answered with ${answer.kind}`)
}
