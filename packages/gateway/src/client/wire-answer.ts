import { UnsupportedServerError } from '@tidemark/contracts'
import { isJsonRecord, type JsonRecord, answerDateMs } from '@tidemark/contracts/internal'
import { OWN_HEADER } from '../protocol/extension-wire.ts'

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
  return Number.isFinite(own) ? own : answerDateMs(header)
}
