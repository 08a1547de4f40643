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

export interface AuthorizedRequest extends Omit<SignedRequest, 'resourceLink'> {
  /** Those that the signature may cover. */
  readonly resourceLinks: readonly string[]
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

  /**
   * Returns the resource link that was signed.
   *
   * @throws ERR_UNAUTHORIZED, ERR_FORBIDDEN
   */
  check(request: AuthorizedRequest): string {
    const { key, resourceLink } = this.#signerOf(request)
    this.#checkDate(request)
    if (key.access === 'readOnly' && !request.isRead) {
      throw new ForbiddenError('this key may only read')
    }
    return resourceLink
  }

  #signerOf(request: AuthorizedRequest): {
    readonly key: AcceptedKey
    readonly resourceLink: string
  } {
    if (request.authorization === '') {
      throw new UnauthorizedError('the authorization header is missing')
    }
    const token = parseAuthorization(request.authorization)
    if (token === undefined) throw new UnauthorizedError('the authorization header is malformed')
    if (token.type !== 'master') {
      throw new UnauthorizedError('only signatures by a master key (type=master) are accepted')
    }
    const given = Buffer.from(token.signature, 'base64')
    const fitting = request.resourceLinks.flatMap((resourceLink) => {
      const text = signedText({ ...request, resourceLink })
      return this.#keys
        .filter(({ secret }) => signaturesEqual(signature(text, secret), given))
        .map((key) => ({ key, resourceLink }))
    })
    const [signer] = fitting
    if (signer === undefined) {
      throw new UnauthorizedError(
        'the signature does not fit: check the key, and that verb, resource link and date are those that were signed',
      )
    }
    return signer
  }

  #checkDate({ msDate, date }: Pick<SignedRequest, 'msDate' | 'date'>): void {
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
