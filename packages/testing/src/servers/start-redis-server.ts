import { findContainers, startContainer } from './containers.ts'
import { startRedisProcess } from './redis-process.ts'
import {
  connectAdmin,
  NOT_PERSISTENT,
  type RedisServer,
  type RedisServerOptions,
} from './redis-server.ts'

/**
 * Starts a Redis for tests: `await using server = await startRedisServer()`. In a container where `testcontainers` is
 * installed and a container engine answers, else as a process of this machine; always as a process when
 * `REDIS_SERVER_BIN` names one. Tests that kill or pause their server call `startRedisProcess`.
 */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const { args = [], image = 'redis:7.4-alpine' } = options
  const containers = await findContainers({ unlessNamed: 'REDIS_SERVER_BIN' })
  if (containers === undefined) return startRedisProcess({ args })
  const container = await startContainer(containers, {
    image,
    port: 6379,
    // Clients come from outside the container, which Redis' protected mode refuses.
    command: ['redis-server', '--protected-mode', 'no', ...NOT_PERSISTENT, ...args],
    ready: { line: /Ready to accept connections/, times: 1 },
  })
  const { host, port } = container
  const admin = connectAdmin({ host, port })
  const stop = async (): Promise<void> => {
    admin.disconnect()
    await container.stop()
  }
  return { host, port, admin, stop, [Symbol.asyncDispose]: stop }
}
