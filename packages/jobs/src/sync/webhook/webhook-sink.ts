import { InvalidOptionError, systemClock, type Clock, type DocumentBody } from '@tidemark/contracts'
import { checkOptions, option, optionRule, requiredOption } from '@tidemark/contracts/internal'
import { sha256 } from '../../workers/platform/sha256.ts'
import type { SinkEntry } from '../sink-entry.ts'
import { SinkRefusedError } from '../sink-refused-error.ts'
import { SinkUnavailableError } from '../sink-unavailable-error.ts'
import type { Sink, SinkContext } from '../sink.ts'
import { post } from './platform/post.ts'
import { secretRule, secretsOf, signedHeaders, type WebhookSecret } from './webhook-signature.ts'

export interface WebhookSinkOptions {
  /** Where requests go: http or https, without user and password. */
  readonly url: string
  /** Signs each request; see `verifyWebhook`. At least 24 bytes: random ones as `whsec_` and base64, or a text. */
  readonly secret: WebhookSecret
  /** More of them, such as an `authorization`. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Entries of one request. With 1, the receiver's answer is about one change. @range 1 or more @default 1 */
  readonly maxEntries?: number | undefined
  /** Of one request. An entry that is larger by itself is refused. @range 1 or more @default 1_048_576 */
  readonly maxBodyBytes?: number | undefined
  /** How long an answer may take. @range 1 to 2_147_483_647 @default 15_000 */
  readonly timeoutMs?: number | undefined
  /** For the time of signatures. @default the machine's */
  readonly clock?: Clock | undefined
}

const DEFAULT_MAX_BODY_BYTES = 1_048_576
const DEFAULT_TIMEOUT_MS = 15_000
/** What a timer takes. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1
const URL_EXPECTED = 'a URL of http or https; a user and password go into headers'
/** Remembered at most: some batches. */
const MAX_TAKEN = 10_000
/** Answers that are about what was sent. All others are about the receiver, or the way to it. */
const REFUSALS: ReadonlySet<number> = new Set([400, 409, 413, 415, 422])

/**
 * Posts changes to a URL, signed by Standard Webhooks. **At least once**, in order per key: a request is repeated until it is
 * answered with 2xx. `idempotency-key` and `webhook-id` are the entry's key, the same each time; of several entries they
 * follow from the keys. With a receiver that remembers them: effectively once.
 *
 * Rejects with ERR_SINK_REFUSED when it answers 400, 409, 413, 415 or 422, and with ERR_SINK_UNAVAILABLE for every other answer
 * (a redirect is not followed), no answer in time, and connections that break. `Retry-After` is respected.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function webhookSink<T extends DocumentBody>(
  options: WebhookSinkOptions,
): Sink<SinkEntry<T>> {
  checkOptions(options, {
    url: { ...requiredOption(optionRule(URL_EXPECTED, isHttpUrl)), secret: true },
    secret: secretRule,
    headers: { ...optionRule('names and values of headers', areHeaders), secret: true },
    maxEntries: option.number,
    maxBodyBytes: option.number,
    timeoutMs: option.number,
    clock: option.clock,
  })
  return new WebhookSink<T>(options)
}

class WebhookSink<T extends DocumentBody> implements Sink<SinkEntry<T>> {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #secrets: readonly Uint8Array[]
  readonly #maxEntries: number
  readonly #maxBodyBytes: number
  readonly #timeoutMs: number
  readonly #clock: Clock
  /** Keys that were taken, of batches that did not get through: they need not be sent again. */
  readonly #taken = new Set<string>()

  constructor(options: WebhookSinkOptions) {
    const { url, headers = {}, secret, clock = systemClock } = options
    this.#url = url
    // Their names in lower case, so that none of ours is there twice.
    this.#headers = Object.fromEntries(new Headers(headers))
    this.#secrets = secretsOf(secret)
    this.#maxEntries = wholeNumber('maxEntries', options.maxEntries ?? 1)
    this.#maxBodyBytes = wholeNumber('maxBodyBytes', options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES)
    this.#timeoutMs = wholeNumber(
      'timeoutMs',
      options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
      MAX_TIMEOUT_MS,
    )
    this.#clock = clock
  }

  async write(batch: readonly SinkEntry<T>[], { source, signal }: SinkContext): Promise<void> {
    const frame = textBytes(bodyOf(source, []))
    let part: { readonly entry: SinkEntry<T>; readonly text: string }[] = []
    let bytes = frame
    const send = async (): Promise<void> => {
      if (part.length > 0) await this.#post(part, { source, signal })
      part = []
      bytes = frame
    }
    for (const entry of batch.filter(({ key }) => !this.#taken.has(key))) {
      const { partitionKey: _, ...sent } = entry
      const text = JSON.stringify(sent)
      // With the comma before it.
      const more = textBytes(text) + 1
      if (part.length >= this.#maxEntries || bytes + more > this.#maxBodyBytes) await send()
      if (bytes + more > this.#maxBodyBytes) {
        const limit = `maxBodyBytes (${this.#maxBodyBytes})`
        throw new SinkRefusedError(
          entry,
          `a request with it has ${bytes + more} bytes, more than ${limit}`,
        )
      }
      part.push({ entry, text })
      bytes += more
    }
    await send()
    for (const { key } of batch) this.#taken.delete(key)
  }

  async #post(
    part: readonly { readonly entry: SinkEntry<T>; readonly text: string }[],
    { source, signal }: { readonly source: string; readonly signal: AbortSignal },
  ): Promise<void> {
    signal.throwIfAborted()
    const [{ entry }] = [part[0]!]
    const id = part.length === 1 ? entry.key : sha256(part.map((one) => one.entry.key).join(' '))
    const body = bodyOf(
      source,
      part.map(({ text }) => text),
    )
    const headers = {
      ...this.#headers,
      'content-type': 'application/json',
      'idempotency-key': id,
      ...signedHeaders(this.#secrets, { id, atMs: this.#clock.wallMs(), body }),
    }
    let answer: Awaited<ReturnType<typeof post>>
    try {
      answer = await post(this.#url, { body, headers, timeoutMs: this.#timeoutMs, signal })
    } catch (cause) {
      signal.throwIfAborted()
      throw new SinkUnavailableError(`the webhook did not answer: ${reasonOf(cause)}`, { cause })
    }
    const { status, retryAfterMs } = answer
    if (status >= 200 && status < 300) return this.#remember(part.map((one) => one.entry.key))
    if (REFUSALS.has(status)) throw new SinkRefusedError(entry, `the webhook answered ${status}`)
    throw new SinkUnavailableError(`the webhook answered ${status}`, { retryAfterMs })
  }

  #remember(keys: readonly string[]): void {
    for (const key of keys) this.#taken.add(key)
    for (const key of this.#taken) {
      if (this.#taken.size <= MAX_TAKEN) return
      this.#taken.delete(key)
    }
  }
}

function bodyOf(source: string, entries: readonly string[]): string {
  return `{"source":${JSON.stringify(source)},"entries":[${entries.join(',')}]}`
}

function textBytes(text: string): number {
  return new TextEncoder().encode(text).length
}

/** `fetch` says only that it failed; why is its cause. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? cause.cause.message : cause.message
}

/** `fetch` takes no URL with a user or password. */
function isHttpUrl(value: unknown): boolean {
  const url = typeof value === 'string' ? URL.parse(value) : null
  return url !== null && /^https?:$/.test(url.protocol) && url.username + url.password === ''
}

function areHeaders(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const pairs = Object.entries(value).filter((pair) => typeof pair[1] === 'string')
  try {
    return Object.keys(value).length === [...new Headers(pairs)].length
  } catch {
    return false
  }
}

function wholeNumber(name: string, value: number, max = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= max) return value
  throw new InvalidOptionError(`${name} must be a whole number from 1 to ${max}, got ${value}`)
}
