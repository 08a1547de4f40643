import { InvalidOptionError, type DocumentBody, type Stored } from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionHaving,
  requiredOption,
  type OptionRule,
} from '@tidemark/contracts/internal'
import { newestEntries, type SinkEntry } from '../sink-entry.ts'
import { SinkRefusedError } from '../sink-refused-error.ts'
import type { Sink, SinkContext, SinkSource } from '../sink.ts'
import { withinSignal } from '../within-signal.ts'
import {
  bindTarget,
  callError,
  redisScript,
  runScript,
  type RedisCommands,
} from './redis-commands.ts'

/** What names a document: a key of Redis may follow from nothing else, because a delete has nothing else. */
export type DocumentName = Pick<SinkEntry, 'partitionKey' | 'partitionKeyText' | 'id'>

export interface RedisCacheSinkOptions<T extends DocumentBody> {
  /** An ioredis `Redis` or `Cluster`. The sink does not close it. */
  readonly redis: RedisCommands
  /** Before each key: `orders:`. No other sink may have it. */
  readonly prefix: string
  /** The rest of a document's key. @default partition key text and id: `["EU"]:42` */
  readonly key?: ((name: DocumentName) => string) | undefined
  /** What is kept of a document, as JSON. @default the whole document */
  readonly value?: ((document: Stored<T>) => unknown) | undefined
  /** Keys end this long after they were written last. @range any number above 0 @default they stay */
  readonly ttlSeconds?: number | undefined
  /** How long a deleted document's version is remembered. @range any number above 0 @default 86_400: a day */
  readonly tombstoneSeconds?: number | undefined
}

/** An ioredis client. */
export const redisRule: OptionRule = requiredOption(
  optionHaving('an ioredis Redis or Cluster', 'evalsha', 'eval', 'set', 'get'),
)
export const DEFAULT_TOMBSTONE_SECONDS = 86_400
/** Keys of one call: the server does nothing else meanwhile. */
const MAX_KEYS = 100

/*
 * KEYS     one for each document
 * ARGV     [1] ms that a value stays, 0 = for ever; [2] ms that a tombstone stays;
 *          then for each key: epoch, LSN, JSON text or '' for a delete
 * returns  how many were applied
 * guarantees  a key changes only with a higher (epoch, LSN), as long as it or its tombstone is there
 */
const APPLY = redisScript(`
local applied = 0
for i, key in ipairs(KEYS) do
  local at = 3 * i
  local epoch, lsn, json = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), ARGV[at + 2]
  local known = redis.call('HMGET', key, 'epoch', 'lsn')
  local known_epoch, known_lsn = tonumber(known[1] or '-1'), tonumber(known[2] or '-1')
  if epoch > known_epoch or (epoch == known_epoch and lsn > known_lsn) then
    redis.call('HSET', key, 'epoch', ARGV[at], 'lsn', ARGV[at + 1])
    local stays = ARGV[1]
    if json == '' then
      redis.call('HDEL', key, 'json')
      stays = ARGV[2]
    else
      redis.call('HSET', key, 'json', json)
    end
    if stays == '0' then redis.call('PERSIST', key) else redis.call('PEXPIRE', key, stays) end
    applied = applied + 1
  end
end
return applied
`)

/**
 * Keeps a hash for each document in Redis, with its JSON text as the field `json` (`HGET orders:42 json`) and its version as `epoch` and
 * `lsn`. **Never goes back** while the key is there: it changes only with a higher (epoch, LSN), in one script. A deleted
 * document leaves its version for `tombstoneSeconds`; only what comes later than that could bring it back. With `ttlSeconds`, what
 * comes after the key has ended is taken as new. Keys are as durable as the server's settings make them: after it has lost its
 * data, read the feed again from the beginning.
 *
 * One key is one call in a `Cluster`; keys need no hash tag.
 *
 * Rejects with ERR_SINK_TARGET when the prefix belongs to another collection, ERR_SINK_REFUSED when a key holds something else, and
 * ERR_SINK_UNAVAILABLE for everything else that the server or the connection says.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function redisCacheSink<T extends DocumentBody>(
  options: RedisCacheSinkOptions<T>,
): Sink<SinkEntry<T>> {
  checkOptions(options, {
    redis: redisRule,
    prefix: requiredOption(option.text),
    key: option.function,
    value: option.function,
    ttlSeconds: option.number,
    tombstoneSeconds: option.number,
  })
  return new RedisCacheSink(options)
}

/** @throws ERR_INVALID_OPTION */
export function milliseconds(name: string, seconds: number): string {
  if (seconds > 0 && Number.isSafeInteger(Math.ceil(seconds * 1_000))) {
    return String(Math.ceil(seconds * 1_000))
  }
  throw new InvalidOptionError(`${name} must be a number above 0, got ${seconds}`)
}

class RedisCacheSink<T extends DocumentBody> implements Sink<SinkEntry<T>> {
  readonly ordersVersions = true
  readonly #options: RedisCacheSinkOptions<T>
  readonly #times: readonly [value: string, tombstone: string]

  constructor(options: RedisCacheSinkOptions<T>) {
    const { ttlSeconds, tombstoneSeconds = DEFAULT_TOMBSTONE_SECONDS } = options
    this.#options = options
    this.#times = [
      ttlSeconds === undefined ? '0' : milliseconds('ttlSeconds', ttlSeconds),
      milliseconds('tombstoneSeconds', tombstoneSeconds),
    ]
  }

  async open(
    source: SinkSource,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const { redis, prefix } = this.#options
    await bindTarget(redis, `${prefix}#feed`, { source, signal })
  }

  async write(batch: readonly SinkEntry<T>[], { signal }: SinkContext): Promise<void> {
    const entries = newestEntries(batch)
    const texts = entries.map((entry) => this.#textOf(entry))
    // A script of a cluster has keys of one slot only. They all go out at once and wait for no answer of another.
    const most = this.#options.redis.isCluster === true ? 1 : MAX_KEYS
    const calls: Promise<void>[] = []
    for (let at = 0; at < entries.length; at += most) {
      const part = entries.slice(at, at + most)
      calls.push(this.#apply(part, texts.slice(at, at + most), signal))
    }
    await allDone(calls)
  }

  async #apply(
    entries: readonly SinkEntry<T>[],
    texts: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { redis, prefix, key = defaultKey } = this.#options
    const keys = entries.map((entry) => `${prefix}${key(entry)}`)
    const versions = entries.flatMap(({ epoch, lsn }, index) => [
      String(epoch),
      String(lsn),
      texts[index] ?? '',
    ])
    try {
      signal.throwIfAborted()
      await withinSignal(
        runScript(redis, APPLY, { keys, args: [...this.#times, ...versions] }),
        signal,
      )
    } catch (error) {
      if (!isWrongType(error)) throw callError(error, signal)
      const [only, next] = entries
      if (only !== undefined && next === undefined) {
        throw new SinkRefusedError(only, 'its key holds something else', { cause: error })
      }
      // The others are to be written, and the one is to be named.
      await allDone(
        entries.map((entry, index) => this.#apply([entry], [texts[index] ?? ''], signal)),
      )
    }
  }

  #textOf(entry: SinkEntry<T>): string {
    const { operation, document } = entry
    if (operation === 'delete' || document === undefined) return ''
    const { value = (whole: Stored<T>): unknown => whole } = this.#options
    let text: string | undefined
    try {
      text = JSON.stringify(value(document))
    } catch (cause) {
      throw new SinkRefusedError(entry, 'its value could not be made', { cause })
    }
    // What has no value is not in the cache.
    return text ?? ''
  }
}

function defaultKey({ partitionKeyText, id }: DocumentName): string {
  return `${partitionKeyText}:${id}`
}

function isWrongType(error: unknown): boolean {
  return error instanceof Error && error.message.includes('WRONGTYPE')
}

/** Rejects as the first of those that do, when all have ended. */
async function allDone(calls: readonly Promise<void>[]): Promise<void> {
  await Promise.allSettled(calls)
  await Promise.all(calls)
}
