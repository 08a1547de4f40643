/**
 * What the lease store needs of an ioredis client (5.4 and later), stand-alone, Sentinel or Cluster.
 * A structural type: any copy of ioredis fits.
 */
export interface RedisClient {
  /** `ready` when commands go out at once, `end` when they never will. */
  readonly status: string
  /** True for a `Cluster`. */
  readonly isCluster?: boolean
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>
  sadd(key: string, ...members: string[]): Promise<unknown>
  smembers(key: string): Promise<string[]>
  hlen(key: string): Promise<number>
  /** Of a `Redis`: (options). Of a `Cluster`: (nodes, options). */
  duplicate(...overrides: object[]): RedisSubscriber
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
