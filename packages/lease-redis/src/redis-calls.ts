import { LeaseStoreUnavailableError, type Clock } from '@tidemark/contracts'
import {
  loadLeaseScripts,
  type LeaseScript,
  type LeaseScriptName,
} from './platform/lease-scripts.ts'
import { isClusterClient, type RedisClient } from './redis-client.ts'
import { isNoScript, redisLeaseError } from './redis-lease-error.ts'

const READY_POLL_MS = 10

export interface RedisCallsOptions {
  readonly redis: RedisClient
  readonly clock: Clock
  readonly timeoutMs: number
  /** For error messages. */
  readonly description: string
  /** Replaces the server's TIME. For tests. */
  readonly storeTimeUs?: (() => number) | undefined
  /** Used when a group has no generation yet. */
  readonly newGeneration: () => string
}

/**
 * Commands to Redis, each with a time limit. ioredis queues the commands of a lost connection without limit. Here a
 * call waits outside of that queue, so that a call that was given up is not sent later, unless it was already sent.
 */
export class RedisCalls {
  readonly #options: RedisCallsOptions
  #scripts: Promise<ReadonlyMap<LeaseScriptName, LeaseScript>> | undefined

  constructor(options: RedisCallsOptions) {
    this.#options = options
  }

  /** Runs a script on a group's keys. */
  script(
    name: LeaseScriptName,
    keys: readonly string[],
    args: readonly string[],
    signal?: AbortSignal,
  ): Promise<unknown> {
    return this.command(async (redis) => {
      this.#scripts ??= loadLeaseScripts()
      const script = (await this.#scripts).get(name)
      if (script === undefined) throw new Error(`there is no script ${name}`)
      const { storeTimeUs, newGeneration } = this.#options
      const time = storeTimeUs === undefined ? '' : String(storeTimeUs())
      const publish = isClusterClient(redis) ? 'SPUBLISH' : 'PUBLISH'
      const all = [...keys, time, publish, newGeneration(), ...args]
      try {
        return await redis.evalsha(script.sha1, keys.length, ...all)
      } catch (error) {
        if (!isNoScript(error)) throw error
        // EVAL also loads it again.
        return redis.eval(script.text, keys.length, ...all)
      }
    }, signal)
  }

  /**
   * Sends a command as soon as the connection is ready.
   *
   * Rejects with ERR_LEASE_STORE_UNAVAILABLE after the time limit, with ERR_LEASE_STORAGE when the
   * server refuses for good, and with the signal's reason.
   */
  async command<T>(send: (redis: RedisClient) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { clock, timeoutMs, description } = this.#options
    signal?.throwIfAborted()
    const done = new AbortController()
    const either = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal])
    const limit = clock.sleep(timeoutMs, either).then(() => {
      throw new LeaseStoreUnavailableError(
        `${description}: no answer within ${timeoutMs} ms (connection: ${this.#options.redis.status})`,
      )
    })
    try {
      return await Promise.race([this.#sendWhenReady(send, either), limit])
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason
      throw redisLeaseError(error, description, signal)
    } finally {
      // Ends the loser of the race.
      done.abort('answered')
    }
  }

  async #sendWhenReady<T>(
    send: (redis: RedisClient) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { redis, clock, description } = this.#options
    // `wait` is a lazy client before its first command, which makes it connect.
    while (redis.status !== 'ready' && redis.status !== 'wait') {
      if (redis.status === 'end') {
        throw new LeaseStoreUnavailableError(`${description}: the connection was closed`)
      }
      await clock.sleep(READY_POLL_MS, signal)
    }
    return send(redis)
  }
}
