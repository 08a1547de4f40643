import { type DocumentBody, type Stored } from '@tidemark/contracts'
import { checkOptions, option, requiredOption } from '@tidemark/contracts/internal'
import { newestEntries, type SinkEntry } from '../sink-entry.ts'
import { SinkRefusedError } from '../sink-refused-error.ts'
import type { Sink, SinkContext, SinkSource } from '../sink.ts'
import { withinSignal } from '../within-signal.ts'
import {
  DEFAULT_TOMBSTONE_SECONDS,
  milliseconds,
  redisRule,
  type DocumentName,
} from './redis-cache-sink.ts'
import {
  bindTarget,
  callError,
  redisScript,
  runScript,
  type RedisCommands,
} from './redis-commands.ts'

export interface RedisSortedSetSinkOptions<T extends DocumentBody> {
  /** An ioredis `Redis` or `Cluster`. The sink does not close it. */
  readonly redis: RedisCommands
  /** Of the sorted set. Beside it are `{<key>}:versions`, `{<key>}:deleted` and `{<key>}:feed`, in the same slot of a cluster. */
  readonly key: string
  /** Score of a document; undefined when it is not to be in the set. */
  readonly score: (document: Stored<T>) => number | undefined
  /** The document's member. Different for each document. @default its id */
  readonly member?: ((name: DocumentName) => string) | undefined
  /**
   * How long the version of a document is remembered that is not in the set any more.
   * @range any number above 0 @default 86_400: a day
   */
  readonly tombstoneSeconds?: number | undefined
}

/** Members of one call: the server does nothing else meanwhile. */
const MAX_MEMBERS = 100

/*
 * KEYS     [1] sorted set; [2] hash: member -> "epoch lsn"; [3] sorted set: members that left, by time in ms
 * ARGV     [1] ms that a version is remembered after its member left; then for each member: member, epoch, LSN, score or ''
 * returns  how many were applied
 * guarantees  a member changes only with a higher (epoch, LSN), as long as its version is remembered.
 *             Each call forgets a bounded number of versions that are older than that
 */
const APPLY = redisScript(`
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now_ms - ARGV[1], 'LIMIT', 0, 200)) do
  redis.call('HDEL', KEYS[2], member)
  redis.call('ZREM', KEYS[3], member)
end
local applied = 0
for at = 2, #ARGV, 4 do
  local member, epoch, lsn, score = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
  local known = redis.call('HGET', KEYS[2], member)
  local known_epoch, known_lsn = -1, -1
  if known then
    local left, right = string.match(known, '^(%d+) (%d+)$')
    known_epoch, known_lsn = tonumber(left), tonumber(right)
  end
  if epoch > known_epoch or (epoch == known_epoch and lsn > known_lsn) then
    if score == '' then
      redis.call('ZREM', KEYS[1], member)
      redis.call('ZADD', KEYS[3], now_ms, member)
    else
      redis.call('ZADD', KEYS[1], score, member)
      redis.call('ZREM', KEYS[3], member)
    end
    -- Last: if the key holds something else, the script ends before, and the version is still to come.
    redis.call('HSET', KEYS[2], member, ARGV[at + 1] .. ' ' .. ARGV[at + 2])
    applied = applied + 1
  end
end
return applied
`)

/**
 * Keeps a member with a score for each document in a sorted set of Redis: a leaderboard, a schedule. **Never goes back**: a
 * member changes only with a higher (epoch, LSN), in one script with its version. The version of a document that left the set is
 * remembered for `tombstoneSeconds`; only what comes later than that could bring it back. The set is as durable as the server's
 * settings make it: after it has lost its data, read the feed again from the beginning.
 *
 * Rejects with ERR_SINK_TARGET when the key belongs to another collection, ERR_SINK_REFUSED for a score that is no finite number, and
 * ERR_SINK_UNAVAILABLE for everything else that the server or the connection says.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function redisSortedSetSink<T extends DocumentBody>(
  options: RedisSortedSetSinkOptions<T>,
): Sink<SinkEntry<T>> {
  checkOptions(options, {
    redis: redisRule,
    key: requiredOption(option.text),
    score: requiredOption(option.function),
    member: option.function,
    tombstoneSeconds: option.number,
  })
  return new RedisSortedSetSink(options)
}

/** A key with a hash tag of its own stays in that slot. Redis looks at the first braces only. */
function hasHashTag(key: string): boolean {
  const begin = key.indexOf('{')
  return begin !== -1 && key.indexOf('}', begin) > begin + 1
}

class RedisSortedSetSink<T extends DocumentBody> implements Sink<SinkEntry<T>> {
  readonly ordersVersions = true
  readonly #options: RedisSortedSetSinkOptions<T>
  readonly #keys: readonly string[]
  readonly #feedKey: string
  readonly #tombstoneMs: string

  constructor(options: RedisSortedSetSinkOptions<T>) {
    const { key, tombstoneSeconds = DEFAULT_TOMBSTONE_SECONDS } = options
    const tagged = hasHashTag(key) ? key : `{${key}}`
    this.#options = options
    this.#keys = [key, `${tagged}:versions`, `${tagged}:deleted`]
    this.#feedKey = `${tagged}:feed`
    this.#tombstoneMs = milliseconds('tombstoneSeconds', tombstoneSeconds)
  }

  async open(
    source: SinkSource,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    await bindTarget(this.#options.redis, this.#feedKey, { source, signal })
  }

  async write(batch: readonly SinkEntry<T>[], { signal }: SinkContext): Promise<void> {
    const { redis, member = ({ id }) => id } = this.#options
    const entries = newestEntries(batch)
    const scores = entries.map((entry) => this.#scoreOf(entry))
    for (let at = 0; at < entries.length; at += MAX_MEMBERS) {
      const part = entries.slice(at, at + MAX_MEMBERS)
      const versions = part.flatMap((entry, index) => [
        member(entry),
        String(entry.epoch),
        String(entry.lsn),
        scores[at + index] ?? '',
      ])
      const args = [this.#tombstoneMs, ...versions]
      try {
        signal.throwIfAborted()
        await withinSignal(runScript(redis, APPLY, { keys: this.#keys, args }), signal)
      } catch (error) {
        throw callError(error, signal)
      }
    }
  }

  #scoreOf(entry: SinkEntry<T>): string {
    const { operation, document } = entry
    if (operation === 'delete' || document === undefined) return ''
    let score: number | undefined
    try {
      score = this.#options.score(document)
    } catch (cause) {
      throw new SinkRefusedError(entry, 'its score could not be made', { cause })
    }
    if (score === undefined) return ''
    if (Number.isFinite(score)) return String(score)
    throw new SinkRefusedError(entry, `its score must be a finite number, got ${String(score)}`)
  }
}
