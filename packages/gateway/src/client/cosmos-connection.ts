import {
  InvalidOptionError,
  ResourceNotFoundError,
  StoreUnavailableError,
  UnsupportedServerError,
  systemClock,
  systemRandom,
  type Clock,
  type Random,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  requiredOption,
  type OptionRules,
  errorOfWire,
  unknownOutcome,
  type RequestSubject,
  isJsonRecord,
} from '@tidemark/contracts/internal'
import { RequestSigner } from '../authorization/request-signer.ts'
import { OWN_HEADER } from '../protocol/extension-wire.ts'
import { HEADER } from '../protocol/header-names.ts'
import { resourcePath } from '../protocol/resource-path.ts'
import {
  AnswerTooLargeError,
  httpDate,
  systemFetch,
  type HttpFetch,
} from './platform/http-fetch.ts'
import { isConnectionRefused } from './connection-refused.ts'
import { retryDelayMs, type RequestFailure, type RetryLimits } from './retry-policy.ts'
import { parsed, type WireAnswer } from './wire-answer.ts'

export interface CosmosConnectionOptions {
  /** `https://account.documents.azure.com:443/`, or the endpoint of a Tidemark gateway. */
  readonly endpoint: string
  /** A master key, or a read-only key if nothing is written. Base64 text. */
  readonly key: string
  /** Makes the requests. @default Node's own */
  readonly fetch?: HttpFetch | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** For the jitter of retries. @default the operating system's */
  readonly random?: Random | undefined
  /** Time for one attempt, in addition to the time of a waiting read, in ms. @range 1 or more @default 10_000 */
  readonly requestTimeoutMs?: number | undefined
  /**
   * Maximum number of attempts of one request.
   * @range 1 or more @default 10 (the service's own client: 9 retries of a 429)
   */
  readonly maxAttempts?: number | undefined
  /**
   * Time within which a request can be sent again, in ms.
   * @range 1 or more @default 30_000 (as in the service's own client)
   */
  readonly maxRetryMs?: number | undefined
}

const RULES: OptionRules<CosmosConnectionOptions> = {
  endpoint: requiredOption(option.text),
  key: requiredOption(option.text),
  fetch: option.function,
  clock: option.clock,
  random: option.random,
  requestTimeoutMs: option.number,
  maxAttempts: option.number,
  maxRetryMs: option.number,
}

/** One request, by names that are not encoded yet. */
export interface WireRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: readonly string[]
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | undefined
  readonly subject: RequestSubject
  /** That there is no such document is an answer (404), no error. */
  readonly acceptsAbsence?: true
  /** What the server may wait on purpose, in ms. */
  readonly waitMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

const API_VERSION = '2020-07-15'
const NEVER = new AbortController().signal
/** Made once: an error costs more than the timer that ends with it. */
const ANSWERED = new Error('the request is over')

/**
 * Signed requests to a Cosmos DB account or to a Tidemark gateway: key authorization, gateway mode. It only connects
 * when something uses it, and any number of feeds and collections can share it.
 *
 * A throttled request waits as long as the server asks. A request without a response is sent again only if it changes
 * nothing; else ERR_STORE_UNAVAILABLE says that its outcome is unknown.
 */
export class CosmosConnection {
  /** With a slash at the end. */
  readonly endpoint: string
  readonly clock: Clock
  readonly #signer: RequestSigner
  readonly #fetch: HttpFetch
  readonly #random: Random
  readonly #timeoutMs: number
  readonly #limits: RetryLimits

  /** @throws ERR_INVALID_OPTION; the message does not show the key */
  constructor(options: CosmosConnectionOptions) {
    checkOptions(options, RULES)
    const { fetch = systemFetch, clock = systemClock, random = systemRandom } = options
    const { requestTimeoutMs = 10_000, maxAttempts = 10, maxRetryMs = 30_000 } = options
    this.endpoint = checkedEndpoint(options.endpoint)
    this.#signer = new RequestSigner(checkedKey(options.key))
    this.#fetch = fetch
    this.clock = clock
    this.#random = random
    this.#timeoutMs = atLeastOne('requestTimeoutMs', requestTimeoutMs)
    this.#limits = {
      maxAttempts: atLeastOne('maxAttempts', maxAttempts),
      maxRetryMs: atLeastOne('maxRetryMs', maxRetryMs),
    }
  }

  /** The answer, of a status below 400. Rejects with the coded error of any other, and with `signal.reason`. */
  async send(request: WireRequest): Promise<WireAnswer> {
    const { signal = NEVER, subject } = request
    const startedMs = this.clock.monotonicMs()
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      const outcome = await this.#attempt(request, signal)
      if (outcome.kind === 'answered') return outcome.answer
      const delayMs = retryDelayMs(
        outcome.failure,
        {
          attempt,
          elapsedMs: this.clock.monotonicMs() - startedMs,
          effect: subject.effect,
          fraction: this.#random.fraction(),
        },
        this.#limits,
      )
      if (delayMs === undefined) throw outcome.error
      await this.clock.sleep(delayMs, signal)
    }
  }

  async #attempt(request: WireRequest, signal: AbortSignal): Promise<Outcome> {
    const { subject, waitMs = 0 } = request
    const over = new AbortController()
    const timeoutMs = this.#timeoutMs + waitMs
    const timer = this.clock
      .sleep(timeoutMs, over.signal, { purpose: 'background' })
      .then(() => over.abort(), ignore)
    const either = signal === NEVER ? over.signal : AbortSignal.any([signal, over.signal])
    try {
      const answer = await this.#exchange(request, either)
      if (answer.status < 400) return { kind: 'answered', answer }
      const failure = failureOf(answer)
      const { status, retryAfterMs } = failure
      const error = errorOfWire(failure, subject)
      if (request.acceptsAbsence && isAbsence(error)) return { kind: 'answered', answer }
      return { kind: 'failed', error, failure: { kind: 'answer', status, retryAfterMs } }
    } catch (cause) {
      signal.throwIfAborted()
      if (isConnectionRefused(cause)) {
        const error = new StoreUnavailableError(`nothing listens at ${this.endpoint}`, { cause })
        return { kind: 'failed', error, failure: { kind: 'refused' } }
      }
      if (cause instanceof AnswerTooLargeError) {
        const message = `${this.endpoint}: ${cause.message}${unknownOutcome(subject)}`
        throw new UnsupportedServerError(message, { cause })
      }
      const what = over.signal.aborted
        ? `no answer from ${this.endpoint} within ${timeoutMs} ms`
        : `the connection to ${this.endpoint} broke`
      const error = new StoreUnavailableError(`${what}${unknownOutcome(subject)}`, { cause })
      return { kind: 'failed', error, failure: { kind: 'lost' } }
    } finally {
      over.abort(ANSWERED)
      await timer
    }
  }

  async #exchange(
    { method, path, headers = {}, body }: WireRequest,
    signal: AbortSignal,
  ): Promise<WireAnswer> {
    const target = path.map(encodeURIComponent).join('/')
    const date = httpDate(this.clock.wallMs())
    const { resourceType, resourceLink } = resourcePath(`/${target}`)
    const signed = { method, resourceType, resourceLink, msDate: date, date: '' }
    const response = await this.#fetch(`${this.endpoint}${target}`, {
      method,
      headers: {
        accept: 'application/json',
        [HEADER.msDate]: date,
        'x-ms-version': API_VERSION,
        ...(body !== undefined &&
          method !== 'PATCH' && { [HEADER.contentType]: 'application/json' }),
        ...(body !== undefined && method === 'PATCH' && { [HEADER.contentType]: PATCH_TYPE }),
        ...headers,
        [HEADER.authorization]: this.#signer.authorization(signed),
      },
      ...(body !== undefined && { body }),
      signal,
    })
    const text = await response.text()
    const header = (name: string): string | undefined => response.headers.get(name) || undefined
    return { status: response.status, body: text, header }
  }
}

/** What the service documents for a patch; its JavaScript client sends none, and servers take both. */
const PATCH_TYPE = 'application/json_patch+json'

function isAbsence(error: Error): boolean {
  return error instanceof ResourceNotFoundError && error.resource === 'document'
}

type Outcome =
  | { readonly kind: 'answered'; readonly answer: WireAnswer }
  | { readonly kind: 'failed'; readonly error: Error; readonly failure: RequestFailure }

function failureOf({ status, body, header }: WireAnswer): Parameters<typeof errorOfWire>[0] {
  const value = parsed(body)
  const message = isJsonRecord(value) ? value['message'] : undefined
  const text = typeof message === 'string' ? message : 'the request failed'
  return {
    status,
    substatus: numberOf(header(HEADER.substatus)),
    message: withoutActivityId(text),
    retryAfterMs: numberOf(header(HEADER.retryAfterMs)),
    code: header(OWN_HEADER.errorCode),
    detail: header(OWN_HEADER.errorDetail),
  }
}

/** The service puts it at the end of its messages. */
function withoutActivityId(message: string): string {
  const at = message.lastIndexOf('ActivityId: ')
  const isLast = at !== -1 && !/\S\s+\S/.test(message.slice(at + 'ActivityId: '.length))
  return isLast ? message.slice(0, at).trimEnd() : message
}

/** None of the numbers in headers is below 0. */
function numberOf(text: string | undefined): number | undefined {
  const value = Number(text ?? Number.NaN)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

function checkedEndpoint(endpoint: string): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol)) return `${url.origin}/`
  throw new InvalidOptionError(
    `endpoint must be a http: or https: address, got ${JSON.stringify(endpoint)}`,
  )
}

function checkedKey(key: string): Uint8Array {
  if (typeof key === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(key)) {
    return Buffer.from(key, 'base64')
  }
  throw new InvalidOptionError('key must be base64 text')
}

function atLeastOne(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new InvalidOptionError(`${name} must be a whole number from 1 on, got ${String(value)}`)
}

function ignore(): void {}
