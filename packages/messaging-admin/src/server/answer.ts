import { writeXml } from '../atom/write-xml.ts'
import { element, type XmlElement } from '../atom/xml-element.ts'
import type { Refusal } from '../errors/refusals.ts'
import type { Answer } from '../platform/http-listener.ts'
import { isoDate } from '../platform/iso-date.ts'

const DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'
const RETRY_AFTER_SECONDS = 1

/** An entry or a feed. */
export function atomAnswer(status: number, root: XmlElement): Answer {
  const type = root.name === 'feed' ? 'feed' : 'entry'
  return {
    status,
    headers: { 'content-type': `application/atom+xml;type=${type};charset=utf-8` },
    body: DECLARATION + writeXml(root),
  }
}

export function emptyAnswer(status: number): Answer {
  return { status, headers: {}, body: '' }
}

export const HEALTHY: Answer = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ status: 'healthy' }),
}

/** As the service tells errors. Clients look for the sub-code in the text. */
export function refusalAnswer(
  { status, subCode, detail }: Refusal,
  { trackingId, nowMs }: { readonly trackingId: string; readonly nowMs: number },
): Answer {
  const timestamp = isoDate(nowMs)
  const text = `SubCode=${subCode}. ${detail} TrackingId:${trackingId}, Timestamp:${timestamp}`
  const headers: Record<string, string> = { 'content-type': 'application/xml;charset=utf-8' }
  if (status === 401) headers['www-authenticate'] = 'SharedAccessSignature'
  if (status === 503) headers['retry-after'] = String(RETRY_AFTER_SECONDS)
  return {
    status,
    headers,
    body:
      DECLARATION +
      writeXml(element('Error', [element('Code', String(status)), element('Detail', text)])),
  }
}
