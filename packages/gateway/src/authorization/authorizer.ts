import type { Clock } from '@tidemark/contracts'
import { ForbiddenError } from '../errors/forbidden-error.ts'
import { UnauthorizedError } from '../errors/unauthorized-error.ts'
import { parseHttpDate } from '../platform/http-date.ts'
import type { AcceptedKey } from './gateway-keys.ts'
import {
  parseAuthorization,
  signature,
  signaturesEqual,
  signedText,
  type SignedRequest,
} from './signature.ts'

/** How far a request's date may be off, in ms (documented with the REST API). */
export const DATE_WINDOW_MS: number = 15 * 60 * 1000

export interface AuthorizedRequest extends SignedRequest {
  /** Empty when there is none. */
  readonly authorization: string
  /** Whether it changes nothing, so that a key that may only read is enough. */
  readonly isRead: boolean
}

/** Judges signatures. Every key is tried, so that time tells nothing of which one fits. */
export class Authorizer {
  readonly #keys: readonly AcceptedKey[]
  readonly #clock: Clock
  /** The last date that was read: requests of one second say the same. */
  #date: { readonly text: string; readonly timeMs: number | undefined } = {
    text: '',
    timeMs: undefined,
  }

  constructor(keys: readonly AcceptedKey[], clock: Clock) {
    this.#keys = keys
    this.#clock = clock
  }

  /** @throws ERR_UNAUTHORIZED, ERR_FORBIDDEN */
  check(request: AuthorizedRequest): void {
    const key = this.#keyOf(request)
    this.#checkDate(request)
    if (key.access === 'readOnly' && !request.isRead) {
      throw new ForbiddenError('this key may only read')
    }
  }

  #keyOf(request: AuthorizedRequest): AcceptedKey {
    if (request.authorization === '') {
      throw new UnauthorizedError('the authorization header is missing')
    }
    const token = parseAuthorization(request.authorization)
    if (token === undefined) throw new UnauthorizedError('the authorization header is malformed')
    if (token.type !== 'master') {
      throw new UnauthorizedError('only signatures by a master key (type=master) are accepted')
    }
    const given = Buffer.from(token.signature, 'base64')
    const text = signedText(request)
    const fitting = this.#keys.filter(({ secret }) =>
      signaturesEqual(signature(text, secret), given),
    )
    const [key] = fitting
    if (key === undefined) {
      throw new UnauthorizedError(
        'the signature does not fit: check the key, and that verb, resource link and date are those that were signed',
      )
    }
    return key
  }

  #checkDate({ msDate, date }: SignedRequest): void {
    const text = msDate === '' ? date : msDate
    if (text !== this.#date.text) this.#date = { text, timeMs: parseHttpDate(text) }
    const { timeMs } = this.#date
    if (timeMs === undefined) throw new ForbiddenError('x-ms-date is missing or is no HTTP date')
    const offMs = Math.abs(this.#clock.wallMs() - timeMs)
    if (offMs > DATE_WINDOW_MS) {
      throw new ForbiddenError(
        `x-ms-date is ${Math.round(offMs / 1000)} s off this server's clock; 900 s are allowed`,
      )
    }
  }
}
