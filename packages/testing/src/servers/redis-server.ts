import { Redis } from 'ioredis'

export interface RedisServerOptions {
  /** Arguments of `redis-server`. They come last, so that they win over the kit's own. @default none */
  readonly args?: readonly string[] | undefined
  /** What a container is made of. A process is whichever `redis-server` is found. @default 'redis:7.4-alpine' */
  readonly image?: string | undefined
}

/** A Redis for tests, on this machine or in a container; without persistence unless its arguments say so. */
export interface RedisServer extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** A connection for the test's own commands. It survives restarts. */
  readonly admin: Redis
  /** Ends it for good and removes its files, as the disposal does. */
  stop(): Promise<void>
}

/** The arguments that keep a server from writing files. */
export const NOT_PERSISTENT: readonly string[] = ['--save', '', '--appendonly', 'no']

export function connectAdmin({
  host,
  port,
}: {
  readonly host: string
  readonly port: number
}): Redis {
  const admin = new Redis({ host, port, retryStrategy: () => 20, maxRetriesPerRequest: null })
  // While the server is down on purpose.
  admin.on('error', () => {})
  return admin
}
