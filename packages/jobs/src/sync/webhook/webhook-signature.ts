import { InvalidOptionError, systemClock, type Clock, type DocumentBody } from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionRule,
  requiredOption,
  type OptionRule,
} from '@tidemark/contracts/internal'
import type { SinkEntry } from '../sink-entry.ts'
import { bytesOfBase64, hmacSha256, sameText } from './platform/hmac.ts'
import { WebhookSignatureError } from './webhook-signature-error.ts'

/*
 * Standard Webhooks (standardwebhooks.com), version 1: the headers are webhook-id, webhook-timestamp and
 * webhook-signature, the signature is v1,base64(HMAC-SHA256(secret, id.timestamp.body)), several of them with spaces
 * between them, and a secret is whsec_ and base64.
 */
const SECRET_PREFIX = 'whsec_'
const MIN_SECRET_BYTES = 24
const DEFAULT_TOLERANCE_SECONDS = 300

/** One secret, or several while one follows another: all sign, and any is accepted. */
export type WebhookSecret = string | readonly string[]

export const secretRule: OptionRule = {
  ...requiredOption(
    optionRule(`a secret, such as "${SECRET_PREFIX}" and base64, or a list of them`, isSecret),
  ),
  secret: true,
}

/** What the body of a request says. */
export interface WebhookBody<T extends DocumentBody = DocumentBody> {
  /** For people: the collection's path. */
  readonly source: string
  /** In the order of the feed. Compare `epoch` and `lsn` if you keep the newest version, and `key` if you keep them all. */
  readonly entries: readonly WebhookEntry<T>[]
}

/** A change as a receiver gets it. */
export type WebhookEntry<T extends DocumentBody = DocumentBody> = Omit<SinkEntry<T>, 'partitionKey'>

export interface VerifyWebhookOptions {
  readonly secret: WebhookSecret
  /** Of the request: `Headers`, or an object with names in lower case, as Node.js has them. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>
  /** As it came, before anything parsed it. */
  readonly body: string | Uint8Array
  /** A request that is older, or from further in the future, is refused. @range any number, 0 or more @default 300 */
  readonly toleranceSeconds?: number | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
}

/**
 * For receivers of a webhook: the body of a request that is signed and not too old. It may still come twice, as deliveries do:
 * remember the keys or versions of entries.
 *
 * @throws ERR_WEBHOOK_SIGNATURE for any other request, ERR_INVALID_OPTION
 */
export function verifyWebhook<T extends DocumentBody = DocumentBody>(
  options: VerifyWebhookOptions,
): WebhookBody<T> {
  checkOptions(options, {
    secret: secretRule,
    headers: requiredOption(optionRule('headers', (value) => typeof value === 'object')),
    body: requiredOption(
      optionRule(
        'a text or bytes',
        (value) => typeof value === 'string' || value instanceof Uint8Array,
      ),
    ),
    toleranceSeconds: option.number,
    clock: option.clock,
  })
  const { secret, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, clock = systemClock } = options
  const body =
    typeof options.body === 'string' ? options.body : new TextDecoder().decode(options.body)
  const id = headerOf(options.headers, 'webhook-id')
  const timestamp = headerOf(options.headers, 'webhook-timestamp')
  const given = headerOf(options.headers, 'webhook-signature').split(' ')
  const expected = signaturesOf(secretsOf(secret), { id, timestamp, body })
  // All are compared: how long it takes tells nothing.
  const matches = expected.flatMap((one) => given.map((other) => sameText(one, other)))
  if (!matches.includes(true)) {
    throw new WebhookSignatureError('no signature of the request is of this secret')
  }
  const ageSeconds = clock.wallMs() / 1_000 - Number(timestamp)
  if (!(Math.abs(ageSeconds) <= toleranceSeconds)) {
    throw new WebhookSignatureError(
      `the request is ${Math.round(ageSeconds)} s old, more than ${toleranceSeconds}`,
    )
  }
  return parsedBody<T>(body)
}

/** The headers that sign a request. */
export function signedHeaders(
  secrets: readonly Uint8Array[],
  { id, atMs, body }: { readonly id: string; readonly atMs: number; readonly body: string },
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(atMs / 1_000))
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signaturesOf(secrets, { id, timestamp, body }).join(' '),
  }
}

/** @throws ERR_INVALID_OPTION, without the secret */
export function secretsOf(secret: WebhookSecret): readonly Uint8Array[] {
  const texts = typeof secret === 'string' ? [secret] : secret
  return texts.map((text) => {
    const bytes = text.startsWith(SECRET_PREFIX)
      ? bytesOfBase64(text.slice(SECRET_PREFIX.length))
      : new TextEncoder().encode(text)
    if (bytes.length >= MIN_SECRET_BYTES) return bytes
    throw new InvalidOptionError(`secret must have at least ${MIN_SECRET_BYTES} bytes`)
  })
}

function signaturesOf(
  secrets: readonly Uint8Array[],
  {
    id,
    timestamp,
    body,
  }: { readonly id: string; readonly timestamp: string; readonly body: string },
): readonly string[] {
  return secrets.map((secret) => `v1,${hmacSha256(secret, `${id}.${timestamp}.${body}`)}`)
}

function headerOf(headers: VerifyWebhookOptions['headers'], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name]
  if (typeof value === 'string') return value
  throw new WebhookSignatureError(`the request has no header ${name}`)
}

function parsedBody<T extends DocumentBody>(body: string): WebhookBody<T> {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch (cause) {
    throw new WebhookSignatureError('the body is not JSON', { cause })
  }
  if (isBody<T>(value)) return value
  throw new WebhookSignatureError('the body is not that of a webhook of this library')
}

/** The signature vouches for the rest. */
function isBody<T extends DocumentBody>(value: unknown): value is WebhookBody<T> {
  return typeof value === 'object' && value !== null && Array.isArray(Reflect.get(value, 'entries'))
}

function isSecret(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0 && value.every((one) => typeof one === 'string')
  return typeof value === 'string'
}
