import { errorCode } from '@tidemark/contracts'

/** How the service tells an error: an HTTP status, and a number that clients look for in the text. */
export interface Refusal {
  readonly status: number
  readonly subCode: number
  readonly detail: string
}

/** Status and sub-code for each code that a call of the broker, or reading a request, fails with. */
const CODES: Readonly<Record<string, Omit<Refusal, 'detail'>>> = {
  ERR_INVALID_OPTION: { status: 400, subCode: 40000 },
  ERR_INVALID_REQUEST: { status: 400, subCode: 40000 },
  ERR_INVALID_RULE: { status: 400, subCode: 40000 },
  ERR_LINK_CLOSED: { status: 503, subCode: 50300 },
  ERR_MESSAGING_ENTITY_EXISTS: { status: 409, subCode: 40900 },
  ERR_MESSAGING_ENTITY_NOT_FOUND: { status: 404, subCode: 40400 },
  // The official client calls this sub-code an invalid operation, and any other 403 a quota.
  ERR_MESSAGING_NOT_ALLOWED: { status: 403, subCode: 40301 },
  ERR_STORE_CLOSED: { status: 503, subCode: 50300 },
  ERR_STORE_UNAVAILABLE: { status: 503, subCode: 50300 },
  ERR_UNAUTHORIZED_ACCESS: { status: 401, subCode: 40100 },
}

/** An error that nobody foresaw. Its text stays inside. */
export const INTERNAL_ERROR: Refusal = {
  status: 500,
  subCode: 50000,
  detail: 'The server failed to carry out the request.',
}

export const FOREIGN_HOST: Refusal = {
  status: 403,
  subCode: 40301,
  detail:
    "With the emulator's key, which everybody knows, only calls to and from this machine by its own names are served. " +
    'Use a key of your own to serve others.',
}

export const BODY_TOO_LARGE: Refusal = {
  status: 413,
  subCode: 41300,
  detail: 'The body of the request is too large.',
}

export const TOO_BUSY: Refusal = {
  status: 503,
  subCode: 50300,
  detail: 'The server is busy with other requests. Try again.',
}

export const METHOD_NOT_ALLOWED: Refusal = {
  status: 405,
  subCode: 40500,
  detail: 'The resource does not support this method.',
}

export function refusalOf(error: unknown): Refusal {
  const code = errorCode(error)
  if (code === undefined || !Object.hasOwn(CODES, code) || !(error instanceof Error)) {
    return INTERNAL_ERROR
  }
  return { ...CODES[code]!, detail: error.message }
}
