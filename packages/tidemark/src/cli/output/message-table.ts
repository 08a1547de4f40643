import type { ReceivedMessage } from '@tidemark/messaging'
import { jsonText } from '../../inspection/json-text.ts'
import { textTable } from './text-table.ts'

/** Characters of a body that a row shows. */
const BODY_CHARACTERS = 60

/** `isDead` adds why each message is in its dead-letter queue. */
export function messageTable(
  messages: readonly ReceivedMessage[],
  { isDead }: { readonly isDead: boolean },
): string {
  const headings = ['NUMBER', 'STATE', 'ID', 'SESSION', 'SUBJECT', 'ENQUEUED', 'EXPIRES', 'TRIES']
  const rows = messages.map((message) => [
    message.sequenceNumber,
    message.state,
    message.messageId,
    message.sessionId ?? '-',
    message.subject ?? '-',
    message.enqueuedTimeUtc.toISOString(),
    message.timeToLive === undefined ? 'never' : message.expiresAtUtc.toISOString(),
    message.deliveryCount,
    ...(isDead ? [message.deadLetterReason ?? '-', message.deadLetterErrorDescription ?? '-'] : []),
    bodyText(message.body),
  ])
  return textTable([...headings, ...(isDead ? ['REASON', 'DESCRIPTION'] : []), 'BODY'], rows)
}

/** A message for a JSON line: bytes as base64, whole numbers of 64 bits as text, no properties that are not set. */
export function messageLine(message: ReceivedMessage): unknown {
  const parsed: unknown = JSON.parse(jsonText(message))
  return parsed
}

function bodyText(body: unknown): string {
  if (body instanceof Uint8Array) return `${body.byteLength} bytes`
  const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? '')
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > BODY_CHARACTERS ? `${line.slice(0, BODY_CHARACTERS)}…` : line
}
