import {
  MAX_FORWARD_HOPS,
  type CommandAnswers,
  type CommandOf,
  type EntityLook,
  type EntityRecord,
  type MessageCommand,
  type MessageCopy,
  type MessageEngine,
  type MessageTime,
} from '@tidemark/store/messages'
import { headOf } from '../messages/message-codec.ts'
import type { JudgedMessage } from '../rules/judge-rules.ts'
import type { ParsedRules } from '../rules/parsed-rules.ts'
import { copiesFor } from './fan-out.ts'
import type { EntityDirectory } from './entity-directory.ts'

/** Messages that one transaction moves. */
const PIECE = 100

/** How an expired hop count is told (SET-13). */
const TOO_MANY_HOPS = {
  reason: 'MaxTransferHopCountExceeded',
  description: `The message was forwarded more than ${MAX_FORWARD_HOPS} times.`,
}
const NO_DESTINATION = {
  reason: 'MessagingEntityNotFound',
  description: 'The destination of the forwarding could not be found.',
}

/** What bringing messages needs of the broker. */
export interface BringContext {
  readonly directory: EntityDirectory
  readonly rules: ParsedRules
  engine(): Promise<MessageEngine>
  perform<Kind extends MessageCommand['kind']>(
    command: CommandOf<Kind>,
  ): Promise<{ readonly answer: CommandAnswers[Kind]; readonly time: MessageTime }>
  lockNowMs(): number | undefined
  storeNowMs(): number
}

/**
 * Makes everything arrive that comes to an entity by itself: scheduled messages of its topic, messages of entities that
 * forward to it, dead letters of its owner. Asks the store for nothing where nothing can come from.
 */
export async function bringMessages(context: BringContext, record: EntityRecord): Promise<void> {
  await bring(context, record, new Set())
}

async function bring(
  context: BringContext,
  record: EntityRecord,
  seen: Set<number>,
): Promise<void> {
  if (seen.has(record.number)) return
  seen.add(record.number)
  const { directory } = context
  if (record.kind === 'subscription') {
    const topic = directory.parentOf(record)
    if (topic !== undefined) await bring(context, topic, seen)
    return
  }
  if (record.kind === 'deadLetter') {
    const owner = directory.parentOf(record)
    if (owner === undefined) return
    await bring(context, owner, seen)
    await applyDue(context, owner)
    return
  }
  const sources = directory.sourcesForwardingTo(record)
  for (const source of sources) {
    await bring(context, source, seen)
  }
  for (const source of await withSomething(context, sources)) await forwardFrom(context, source)
  if (record.kind === 'topic') await activateScheduled(context, record)
}

/** Those in which something waits, or is about to. */
async function withSomething(
  context: BringContext,
  sources: readonly EntityRecord[],
): Promise<readonly EntityRecord[]> {
  if (sources.length === 0) return []
  const looks = await lookAt(context, sources)
  return sources.filter(({ number }) => {
    const look = looks.get(number)
    return look !== undefined && (look.hasReady || isDue(context, look))
  })
}

async function lookAt(
  context: BringContext,
  records: readonly EntityRecord[],
): Promise<ReadonlyMap<number, EntityLook>> {
  const engine = await context.engine()
  const looks = await engine.look(records.map(({ number }) => number))
  return new Map(looks.map((look) => [look.entity, look]))
}

function isDue(context: BringContext, { scheduledMs, lockEndMs, expiresMs }: EntityLook): boolean {
  const storeMs = context.storeNowMs()
  const lockMs = context.lockNowMs() ?? Infinity
  return (
    (scheduledMs ?? Infinity) <= storeMs ||
    (expiresMs ?? Infinity) <= storeMs ||
    (lockEndMs ?? Infinity) <= lockMs
  )
}

/** What is due in an entity may put something into its dead-letter queue. */
async function applyDue(context: BringContext, record: EntityRecord): Promise<void> {
  const look = (await lookAt(context, [record])).get(record.number)
  if (look === undefined || !isDue(context, look)) return
  for (;;) {
    const { answer } = await context.perform<'applyDue'>({
      kind: 'applyDue',
      entity: record.number,
      touch: false,
      listening: 'nobody',
    })
    if (answer.kind !== 'again') return
  }
}

/** Moves everything that waits in an entity or dead-letter queue to where it forwards (SET-13, SET-14). */
export async function forwardFrom(context: BringContext, source: EntityRecord): Promise<void> {
  const path = destinationPath(context, source)
  if (path === undefined) return
  for (;;) {
    const read = await context.perform<'readForwardable'>({
      kind: 'readForwardable',
      entity: source.number,
      touch: false,
      max: PIECE,
    })
    if (read.answer.kind === 'again') continue
    if (read.answer.kind === 'refused' || read.answer.messages.length === 0) return
    const { messages } = read.answer
    const destination = context.directory.destination(path)
    // Dead letters that can go nowhere stay where they are.
    if (destination === undefined && source.kind === 'deadLetter') return
    const judge = destination === undefined ? () => [] : judgeTopic(context, destination)
    const { answer } = await context.perform<'forward'>({
      kind: 'forward',
      entity: source.number,
      touch: false,
      destination: destination && { entity: destination.number, version: destination.version },
      messages: messages.map((message) => {
        const head = headOf(message)
        const hasTooManyHops = message.hops >= MAX_FORWARD_HOPS
        return {
          number: message.number,
          messageId: head.messageId ?? String(message.id),
          session: head.sessionId,
          copies: hasTooManyHops ? [] : judge({ head }),
          deadLetter: hasTooManyHops
            ? TOO_MANY_HOPS
            : destination === undefined
              ? NO_DESTINATION
              : undefined,
        }
      }),
    })
    if (answer.kind === 'destinationChanged') await context.directory.refresh()
    else if (answer.kind === 'refused') {
      await context.directory.refresh()
      return
    } else if (answer.kind === 'forwarded' && answer.left > 0) return
  }
}

function destinationPath(context: BringContext, source: EntityRecord): string | undefined {
  if (source.kind !== 'deadLetter') return source.settings.forwardTo
  return context.directory.parentOf(source)?.settings.forwardDeadLettersTo
}

/** Puts a topic's scheduled messages into its subscriptions when their instants have come (SCH-09). */
async function activateScheduled(context: BringContext, topic: EntityRecord): Promise<void> {
  for (let record = topic; ;) {
    const look = (await lookAt(context, [record])).get(record.number)
    if ((look?.scheduledMs ?? Infinity) > context.storeNowMs()) return
    const read = await context.perform<'readDue'>({
      kind: 'readDue',
      entity: record.number,
      touch: false,
      max: PIECE,
    })
    if (read.answer.kind === 'again') continue
    if (read.answer.kind === 'refused' || read.answer.messages.length === 0) return
    const judge = judgeTopic(context, record)
    const { answer } = await context.perform<'activate'>({
      kind: 'activate',
      entity: record.number,
      touch: false,
      version: record.version,
      messages: read.answer.messages.map((message) => ({
        number: message.number,
        copies: judge({ head: headOf(message) }),
      })),
    })
    if (answer.kind !== 'refused') continue
    await context.directory.refresh()
    if (answer.reason !== 'stale') return
    const fresh = context.directory.destination(record.path)
    if (fresh?.number !== record.number) return
    record = fresh
  }
}

/** Where a message goes that arrives at this entity: nowhere else, unless it is a topic. */
function judgeTopic(
  { directory, rules }: BringContext,
  record: EntityRecord,
): (message: JudgedMessage) => readonly MessageCopy[] {
  if (record.kind !== 'topic') return () => []
  const subscriptions = directory.subscriptionsOf(record)
  return (message) => copiesFor(message, subscriptions, rules)
}
