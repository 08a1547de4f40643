import { type Clock, ForbiddenError, UnauthorizedError } from '@tidemark/contracts'
import { isLoopbackHost, isLoopbackOrigin, parseHttpDate } from '@tidemark/contracts/internal'
import {
  acceptedKeys,
  includesEmulatorKey,
  type AcceptedKey,
  type GatewayKeys,
} from './gateway-keys.ts'
import {
  parseAuthorization,
  signature,
  signaturesEqual,
  signedText,
  type SignedRequest,
} from './signature.ts'

/** Who signed a request, and over what. */
export interface Signer {
  readonly key: AcceptedKey
  readonly resourceLink: string
}

/** How far a request's date may be off, in ms (documented with the REST API). */
export const DATE_WINDOW_MS: number = 15 * 60 * 1000

const MAX_SHOWN_CHARS = 100
/** Signatures that are kept, if they are of usual length. */
const MAX_KNOWN = 1_000
const MAX_KNOWN_CHARS = 1_000

export interface AuthorizedRequest extends Omit<SignedRequest, 'resourceLink'> {
  /** Those that the signature may cover. */
  readonly resourceLinks: readonly string[]
  /** The name that the client called, perhaps with a port. */
  readonly host: string
  /** The page that a browser sends it for; undefined where there is none. */
  readonly origin: string | undefined
  /** Empty when there is none. */
  readonly authorization: string
  /** Whether it changes nothing, so that a key that may only read is enough. */
  readonly isRead: boolean
}

/** Judges signatures. Every key is tried, so that the time it takes does not reveal which one fits. */
export class Authorizer {
  #keys: readonly AcceptedKey[] = []
  #isKeyKnown = false
  /** Who signed what, where it was found: within a second a client signs what it asks of one resource only once. */
  readonly #known = new Map<string, Signer>()
  readonly #clock: Clock
  /** The last date that was read: requests of one second say the same. */
  #date: { readonly text: string; readonly timeMs: number | undefined } = {
    text: '',
    timeMs: undefined,
  }

  /** @throws ERR_INVALID_OPTION */
  constructor(keys: GatewayKeys, clock: Clock) {
    this.#clock = clock
    this.replaceKeys(keys)
  }

  /**
   * From now on these keys count. Those that count stay where one of them is refused.
   *
   * @throws ERR_INVALID_OPTION
   */
  replaceKeys(keys: GatewayKeys): void {
    this.#keys = acceptedKeys(keys)
    this.#known.clear()
    this.#isKeyKnown = includesEmulatorKey(keys)
  }

  /**
   * Returns the key that it is signed with, and the resource link that was signed.
   *
   * @throws ERR_UNAUTHORIZED, ERR_FORBIDDEN
   */
  check(request: AuthorizedRequest): Signer {
    this.#checkCaller(request)
    const signer = this.#signerOf(request)
    this.#checkDate(request)
    if (signer.key.access === 'readOnly' && !request.isRead) {
      throw new ForbiddenError('this key may only read')
    }
    return signer
  }

  /**
   * A web page can have a browser send requests to this machine, under a name of its own that it points here, and knows the
   * emulator's key as everybody does. It cannot choose the host and origin that the browser says.
   */
  #checkCaller({ host, origin }: AuthorizedRequest): void {
    if (!this.#isKeyKnown) return
    const isLocal = isLoopbackHost(host)
    if (isLocal && (origin === undefined || isLoopbackOrigin(origin))) return
    const [what, got] = isLocal ? ['for the page of origin', origin] : ['to host', host]
    throw new ForbiddenError(
      `this gateway accepts the emulator's key, which everybody knows, so it serves requests to localhost, 127.0.0.1 and [::1] only, ` +
        `and this one is ${what} ${JSON.stringify(got?.slice(0, MAX_SHOWN_CHARS))}: to use other names, start the gateway with a key of your own`,
    )
  }

  #signerOf(request: AuthorizedRequest): Signer {
    const { method, resourceType, resourceLinks, msDate, date, authorization } = request
    const parts = [method, resourceType, msDate, date, authorization, ...resourceLinks]
    const text = JSON.stringify(parts)
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const signer = this.#findSigner(request)
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    if (text.length <= MAX_KNOWN_CHARS) this.#known.set(text, signer)
    return signer
  }

  #findSigner(request: AuthorizedRequest): Signer {
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
