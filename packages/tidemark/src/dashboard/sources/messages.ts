import type { ReceivedMessage } from '@tidemark/messaging'
import { jsonText } from '../../inspection/json-text.ts'
import { badRequest } from '../requests/refusal.ts'
import type { Query } from '../requests/query.ts'
import type { MessageRow, MessagesAnswer, QueueQuery, SessionsAnswer } from '../views.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { cut, type MaskedTexts } from './masked-text.ts'
import { checkedEntity } from './queue-view.ts'

const PAGE = 100
/** Messages that one answer looks at, to find those of a state or session. */
const MOST_LOOKED_AT = 1_000
const STATES: ReadonlySet<string> = new Set(['active', 'deferred', 'scheduled'])

export function queueOf(query: Query): QueueQuery {
  return { database: query.required('database'), entity: query.required('entity') }
}

/** Looks at messages and changes nothing. Rejects with ERR_BAD_REQUEST, ERR_MESSAGING_ENTITY_NOT_FOUND. */
export async function readMessages(
  { brokers, texts }: DashboardContext,
  query: Query,
): Promise<MessagesAnswer> {
  const place = queueOf(query)
  const [state, session] = [query.optional('state'), query.optional('session')]
  if (state !== undefined && !STATES.has(state)) {
    throw badRequest('state must be active, deferred or scheduled')
  }
  const isDead = query.optional('dead') !== undefined
  const broker = await brokers.of(place.database)
  const entity = checkedEntity(place.entity)
  await using receiver = broker.createReceiver(entity, isDead ? { subQueueType: 'deadLetter' } : {})
  const rows: MessageRow[] = []
  let next = query.number('from') ?? 0
  for (let looked = 0; looked < MOST_LOOKED_AT && rows.length < PAGE;) {
    const found = await receiver.peekMessages(PAGE, { fromSequenceNumber: next })
    if (found.length === 0) return { messages: rows, next: null }
    looked += found.length
    for (const message of found) {
      if (rows.length === PAGE) break
      next = message.sequenceNumber + 1
      if (state !== undefined && message.state !== state) continue
      if (session !== undefined && message.sessionId !== session) continue
      rows.push(messageRow(message, place, texts))
    }
  }
  return { messages: rows, next }
}

/** Rejects with ERR_MESSAGING_ENTITY_NOT_FOUND. */
export async function readSessions(
  { brokers }: DashboardContext,
  query: Query,
): Promise<SessionsAnswer> {
  const { database, entity } = queueOf(query)
  const broker = await brokers.of(database)
  checkedEntity(entity)
  const listed = await broker.front().listSessions(entity, query.optional('after') ?? '', PAGE)
  const sessions = listed.map(({ session }) => session)
  return { sessions, next: sessions.length < PAGE ? null : (sessions.at(-1) ?? null) }
}

function messageRow(message: ReceivedMessage, place: QueueQuery, texts: MaskedTexts): MessageRow {
  const { body, applicationProperties: properties } = message
  const { subject, deadLetterErrorDescription: deadDescription } = message
  const value = { body, properties, subject, deadDescription }
  const masked = texts.masked(value, { kind: 'message', ...place })
  const shown: { readonly [Name in keyof typeof value]?: unknown } =
    typeof masked === 'object' && masked !== null ? masked : { body: masked }
  const { text, isCut } = cut(bodyText(shown.body))
  return {
    id: String(message.sequenceNumber),
    number: message.sequenceNumber,
    state: message.state,
    messageId: message.messageId,
    session: message.sessionId ?? null,
    subject: textOf(shown.subject),
    enqueuedMs: message.enqueuedTimeUtc.getTime(),
    scheduledMs: message.scheduledEnqueueTimeUtc?.getTime() ?? null,
    expiresMs: message.timeToLive === undefined ? null : message.expiresAtUtc.getTime(),
    deliveries: message.deliveryCount,
    deadReason: message.deadLetterReason ?? null,
    deadDescription: textOf(shown.deadDescription),
    properties: shown.properties === undefined ? null : cut(jsonText(shown.properties, 2)).text,
    body: text,
    isCut,
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function bodyText(body: unknown): string {
  if (body instanceof Uint8Array) return Buffer.from(body).toString('base64')
  return typeof body === 'string' ? body : jsonText(body, 2)
}
