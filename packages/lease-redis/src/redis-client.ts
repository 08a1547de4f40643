/**
 * What the lease store needs of an ioredis client (5.4 and later). Structural types: any copy of
 * ioredis fits.
 */
export type RedisClient = RedisServerClient | RedisClusterClient

/** An ioredis `Redis`, of one server or behind Sentinels. */
export interface RedisServerClient extends RedisCommands, RedisNode {
  duplicate(options: SubscriberOptions & { readonly maxRetriesPerRequest: null }): RedisSubscriber
}

/** An ioredis `Cluster`. */
export interface RedisClusterClient extends RedisCommands {
  nodes(role: 'master'): RedisNode[]
  duplicate(
    nodes: never[],
    options: SubscriberOptions & { readonly shardedSubscribers: boolean },
  ): RedisSubscriber
}

/** One server. */
export interface RedisNode {
  /** For messages. */
  readonly options?: { readonly host?: string | undefined; readonly port?: number | undefined }
  call(command: string, ...args: string[]): Promise<unknown>
}

/** What both clients have. */
export interface RedisCommands {
  /** `ready` when commands are sent at once, `end` when they never will be. */
  readonly status: string
  /** True for a `Cluster`. */
  readonly isCluster?: boolean
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>
  sadd(key: string, ...members: string[]): Promise<unknown>
  smembers(key: string): Promise<string[]>
  hlen(key: string): Promise<number>
}

/** Options of the connection that only listens. */
export interface SubscriberOptions {
  /** Always empty: channels have the whole name. */
  readonly keyPrefix: string
  /** Always false: it connects at once. */
  readonly lazyConnect: boolean
}

export function isClusterClient(redis: RedisClient): redis is RedisClusterClient {
  return redis.isCluster === true
}

/** A connection that only listens. */
export interface RedisSubscriber {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'message' | 'smessage', listener: (channel: string, message: string) => void): unknown
  subscribe(...channels: string[]): Promise<unknown>
  unsubscribe(...channels: string[]): Promise<unknown>
  ssubscribe(...channels: string[]): Promise<unknown>
  sunsubscribe(...channels: string[]): Promise<unknown>
  disconnect(): void
}
