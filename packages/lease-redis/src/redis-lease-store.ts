import {
  checkedGroupName,
  InvalidOptionError,
  LeaseStoreVolatileError,
  systemClock,
  systemRandom,
  type Clock,
  type DurabilityLevel,
  type LeaseDurability,
  type LeaseGroup,
  type LeaseStore,
  type RequestOptions,
  type Random,
} from '@tidemark/contracts'
import {
  checkOptions,
  option,
  requiredOption,
  optionHaving,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { DURABILITY_LEVELS, judgeDurability, type JudgedDurability } from './judge-durability.ts'
import { replyText } from './lease-replies.ts'
import { RedisCalls } from './redis-calls.ts'
import type { RedisClient } from './redis-client.ts'
import { RedisHints } from './redis-hints.ts'
import { RedisLeaseGroup } from './redis-lease-group.ts'
import { readServerFacts } from './server-facts.ts'

const KEY_NAMES = ['m', 'hd', 'hi', 'hx', 'hb', 'o', 'c', 't', 'ns', 'nt'] as const

export interface RedisLeaseStoreOptions {
  /** Prefix of every key; must not contain braces. @default `tidemark:leases:` */
  keyPrefix?: string | undefined
  /**
   * Time limit of a call, also while the connection is away. After it, the call rejects with
   * ERR_LEASE_STORE_UNAVAILABLE. Keep it below the session's time to live.
   * @range any number above 0 @default 2_000 (one heartbeat)
   */
  commandTimeoutMs?: number | undefined
  /**
   * Allows groups on a server that loses everything at its own end, or may evict leases (level D). For tests, and where
   * lost positions do not matter. @default false: `openGroup` rejects with ERR_LEASE_STORE_VOLATILE
   */
  allowVolatile?: boolean | undefined
  /**
   * How durable the server is, if it cannot be asked (CONFIG is forbidden, as on many managed services). What a server
   * reports takes precedence. @default what INFO reports
   */
  durability?: DurabilityLevel | undefined
  /** Measures the time limit. @default the system's */
  clock?: Clock | undefined
  /** For generations. @default the system's */
  random?: Random | undefined
}

/** With what only tests set: see the entry `testing`. */
export interface TimedLeaseStoreOptions extends RedisLeaseStoreOptions {
  /** Replaces the server's TIME, in µs since the epoch. @default the server's own */
  storeTimeUs?: (() => number) | undefined
}

const client = optionHaving('a client of ioredis', 'evalsha', 'duplicate')
const RULES: OptionRules<TimedLeaseStoreOptions> = {
  keyPrefix: option.text,
  commandTimeoutMs: option.number,
  allowVolatile: option.flag,
  durability: option.text,
  clock: option.clock,
  random: option.random,
  storeTimeUs: option.function,
}

/**
 * Leases on Redis: stand-alone, behind Sentinels, or in a Cluster (one group lives in one slot).
 *
 * The client stays yours: the store never closes it. Use a client without blocking commands, because heartbeats would
 * wait behind them. For hints, the store duplicates the client once, while a group listens.
 *
 * @throws ERR_INVALID_OPTION
 */
export class RedisLeaseStore implements LeaseStore {
  readonly description: string
  readonly #calls: RedisCalls
  readonly #hints: RedisHints
  readonly #keyPrefix: string
  readonly #allowVolatile: boolean
  readonly #declared: DurabilityLevel | undefined

  constructor(redis: RedisClient, options: RedisLeaseStoreOptions = {}) {
    checkOptions({ redis }, { redis: requiredOption(client) })
    checkOptions(options, RULES)
    const {
      keyPrefix = 'tidemark:leases:',
      commandTimeoutMs = 2_000,
      allowVolatile = false,
      durability,
      clock = systemClock,
      random = systemRandom,
      storeTimeUs,
    }: TimedLeaseStoreOptions = options
    if (/[{}]/.test(keyPrefix)) {
      throw new InvalidOptionError(`keyPrefix must not contain braces, got ${keyPrefix}`)
    }
    if (!(commandTimeoutMs > 0 && Number.isFinite(commandTimeoutMs))) {
      throw new InvalidOptionError(`commandTimeoutMs must be above 0, got ${commandTimeoutMs}`)
    }
    if (durability !== undefined && !DURABILITY_LEVELS.includes(durability)) {
      throw new InvalidOptionError(`durability must be A, B, C or D, got ${String(durability)}`)
    }
    this.#allowVolatile = allowVolatile
    this.#declared = durability
    this.description = `leases on Redis under ${keyPrefix}`
    this.#keyPrefix = keyPrefix
    this.#hints = new RedisHints(redis)
    this.#calls = new RedisCalls({
      redis,
      clock,
      timeoutMs: commandTimeoutMs,
      description: this.description,
      storeTimeUs,
      newGeneration: () => random.hex(8),
    })
  }

  /**
   * Rejects with ERR_LEASE_STORE_VOLATILE when the server is known to be of level D and that is not allowed. A server
   * that cannot be asked is not refused.
   */
  async openGroup(group: string, { signal }: RequestOptions = {}): Promise<LeaseGroup> {
    checkedGroupName(group)
    if (!this.#allowVolatile) this.#refuseVolatile(await this.#judge(signal))
    const keys = this.#keys(group)
    const metaKey = replyText(await this.#calls.script('open', keys, [], signal))
    await this.#calls.command((redis) => redis.sadd(this.#registryKey, group), signal)
    const channel = `${metaKey.slice(0, -1)}ch`
    return new RedisLeaseGroup(group, { keys, channel }, { calls: this.#calls, hints: this.#hints })
  }

  /** For a Cluster, asks every master; the lowest level counts. */
  async readDurability({ signal }: RequestOptions = {}): Promise<LeaseDurability> {
    const { level, findings } = await this.#judge(signal)
    return { level, findings }
  }

  async listGroups({ signal }: RequestOptions = {}): Promise<readonly string[]> {
    const known = await this.#calls.command((redis) => redis.smembers(this.#registryKey), signal)
    const groups: string[] = []
    for (const group of known) {
      const [, , , , , , checkpoints = ''] = this.#keys(group)
      const count = await this.#calls.command((redis) => redis.hlen(checkpoints), signal)
      if (count > 0) groups.push(group)
    }
    return groups.sort()
  }

  async #judge(signal: AbortSignal | undefined): Promise<JudgedDurability> {
    const servers = await this.#calls.command(
      (redis) => readServerFacts(redis, this.#registryKey),
      signal,
    )
    return judgeDurability(servers, this.#declared)
  }

  #refuseVolatile({ level, findings, certain }: JudgedDurability): void {
    if (level !== 'D' || !certain) return
    throw new LeaseStoreVolatileError(
      `${this.description} would be lost when the server ends (durability level D: ${findings.join('; ')}). ` +
        'Set appendonly yes, appendfsync everysec or always, and no maxmemory-policy allkeys-…; or allow it ' +
        'with the option allowVolatile (--allow-volatile of the command)',
    )
  }

  get #registryKey(): string {
    return `${this.#keyPrefix}groups`
  }

  #keys(group: string): readonly string[] {
    // Percent-encoded, because a brace in the name would end the hash tag.
    const tag = `${this.#keyPrefix}{${encodeURIComponent(group)}}`
    return KEY_NAMES.map((name) => `${tag}:${name}`)
  }
}
