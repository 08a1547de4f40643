import { startRedisServer } from '@tidemark/testing/servers'
import type { DemoOptions } from './demo-options.ts'

export interface ProvidedRedis extends AsyncDisposable {
  /** Undefined when the demo needs none. */
  readonly url: string | undefined
}

/** The Redis that was given, or one of the demo's own that ends with it; installed if there is none. */
export async function provideRedis(
  { leases, redisUrl }: DemoOptions,
  say: (line: string) => void,
): Promise<ProvidedRedis> {
  if (leases !== 'redis' || redisUrl !== undefined) {
    return { url: redisUrl, async [Symbol.asyncDispose]() {} }
  }
  say('starting a Redis server of its own for the leases')
  const server = await startRedisServer({
    args: ['--appendonly', 'yes', '--appendfsync', 'everysec'],
  })
  return {
    url: `redis://${server.host}:${server.port}`,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
