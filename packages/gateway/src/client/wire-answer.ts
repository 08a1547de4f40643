import { UnsupportedServerError } from '@tidemark/contracts'
import { parseHttpDate } from '../platform/http-date.ts'
import { OWN_HEADER } from '../protocol/extension-wire.ts'
import { HEADER } from '../protocol/header-names.ts'
import { isJsonRecord, type JsonRecord } from '../protocol/request-values.ts'

/** What a server answered. */
export interface WireAnswer {
  readonly status: number
  readonly body: string
  /** A header's text; undefined when it is missing or empty. */
  readonly header: (name: string) => string | undefined
}

/** @throws ERR_SERVER_UNSUPPORTED when the body is no JSON object */
export function jsonOf(answer: WireAnswer): JsonRecord {
  const value = parsed(answer.body)
  if (isJsonRecord(value)) return value
  throw new UnsupportedServerError(
    `the answer (status ${answer.status}) is no JSON object: is this a Cosmos-compatible server?`,
  )
}

/** The JSON value of a text; undefined if it is none. */
export function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

/**
 * The server's clock at an answer, epoch ms. Our gateway says the store's, to the ms. Elsewhere it is the second of
 * the `date` header, which may be up to one second behind.
 *
 * @throws ERR_SERVER_UNSUPPORTED when the answer has neither
 */
export function serverTimeMs({ header }: WireAnswer): number {
  const own = Number(header(OWN_HEADER.serverTimeMs) ?? Number.NaN)
  if (Number.isFinite(own)) return own
  const dateMs = parseHttpDate(header(HEADER.date) ?? '')
  if (dateMs !== undefined) return dateMs
  throw new UnsupportedServerError('the answer has no date header')
}

/** The LSN of an answer: of its header, else of its session token; 0 when it says none. */
export function answerLsn({ header }: WireAnswer): number {
  const own = Number(header(HEADER.lsn) ?? Number.NaN)
  if (Number.isSafeInteger(own) && own >= 0) return own
  const [, token] = /:-?\d+#(\d+)/.exec(header(HEADER.sessionToken) ?? '') ?? []
  const seen = Number(token ?? Number.NaN)
  return Number.isSafeInteger(seen) ? seen : 0
}
