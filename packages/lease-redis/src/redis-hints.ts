import type { LeaseHint } from '@tidemark/contracts'
import { isClusterClient, type RedisClient, type RedisSubscriber } from './redis-client.ts'

const HINTS: ReadonlySet<string> = new Set<LeaseHint>(['membership', 'plan', 'released'])

type Listener = (hint: LeaseHint) => void

/**
 * The store's subscriptions, over a separate connection that is open while there are listeners. Hints that are
 * published while it is cut are lost: delivery is at most once.
 */
export class RedisHints {
  readonly #redis: RedisClient
  readonly #listeners = new Map<string, Set<Listener>>()
  #connection: RedisSubscriber | undefined

  constructor(redis: RedisClient) {
    this.#redis = redis
  }

  /** Calls back on the hints of a channel until the returned function is called. */
  listen(channel: string, listener: Listener): () => void {
    const own: Listener = (hint) => listener(hint)
    let listeners = this.#listeners.get(channel)
    if (listeners === undefined) {
      listeners = new Set()
      this.#listeners.set(channel, listeners)
      this.#subscribe(channel)
    }
    listeners.add(own)
    return () => this.#remove(channel, own)
  }

  #remove(channel: string, listener: Listener): void {
    const listeners = this.#listeners.get(channel)
    if (listeners?.delete(listener) !== true || listeners.size > 0) return
    this.#listeners.delete(channel)
    const connection = this.#connection
    if (this.#listeners.size === 0) {
      this.#connection = undefined
      connection?.disconnect()
    } else if (connection !== undefined) {
      const left = isClusterClient(this.#redis)
        ? connection.sunsubscribe(channel)
        : connection.unsubscribe(channel)
      left.catch(ignore)
    }
  }

  #subscribe(channel: string): void {
    this.#connection ??= this.#connect()
    const subscribed = isClusterClient(this.#redis)
      ? this.#connection.ssubscribe(channel)
      : this.#connection.subscribe(channel)
    // ioredis subscribes again after each reconnect; until then heartbeats are enough for the group.
    subscribed.catch(ignore)
  }

  #connect(): RedisSubscriber {
    // Channel names are complete already, so no key prefix. This connection must wait for a server that is away.
    const options = { keyPrefix: '', lazyConnect: false }
    const redis = this.#redis
    const connection = isClusterClient(redis)
      ? redis.duplicate([], { ...options, shardedSubscribers: true })
      : redis.duplicate({ ...options, maxRetriesPerRequest: null })
    connection.on('error', ignore)
    const onMessage = (channel: string, message: string): void => {
      if (!isHint(message)) return
      for (const listener of this.#listeners.get(channel) ?? []) listener(message)
    }
    connection.on('message', onMessage)
    connection.on('smessage', onMessage)
    return connection
  }
}

function isHint(message: string): message is LeaseHint {
  return HINTS.has(message)
}

function ignore(): void {}
