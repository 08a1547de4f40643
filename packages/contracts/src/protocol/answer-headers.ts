import { UnsupportedServerError } from '../errors/unsupported-server-error.ts'
import { parseHttpDate } from '../platform/http-date.ts'

/** A header of an answer by its name in lower case; undefined when it is missing or empty. */
export type AnswerHeader = (name: string) => string | undefined

/** The LSN of an answer: of its header, else of its session token; 0 when it says none. */
export function answerLsn(header: AnswerHeader): number {
  const own = Number(header('lsn') ?? Number.NaN)
  if (Number.isSafeInteger(own) && own >= 0) return own
  const [, token] = /:-?\d+#(\d+)/.exec(header('x-ms-session-token') ?? '') ?? []
  const seen = Number(token ?? Number.NaN)
  return Number.isSafeInteger(seen) ? seen : 0
}

/**
 * The second of an answer's `date` header, epoch ms: up to one second before the server's clock.
 *
 * @throws ERR_SERVER_UNSUPPORTED when there is none
 */
export function answerDateMs(header: AnswerHeader): number {
  const dateMs = parseHttpDate(header('date') ?? '')
  if (dateMs !== undefined) return dateMs
  throw new UnsupportedServerError('the answer has no date header')
}
