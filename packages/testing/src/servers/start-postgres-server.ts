import { findContainers, startContainer } from './containers.ts'
import { NEW_CLUSTER } from './postgres-data-folder.ts'
import { startPostgresProcess } from './postgres-process.ts'
import {
  postgresAt,
  settingArguments,
  settingsOf,
  type PostgresServer,
  type PostgresServerOptions,
} from './postgres-server.ts'

/**
 * Starts a PostgreSQL for tests: `await using server = await startPostgresServer()`. In a container where
 * `testcontainers` is installed and a container engine answers, else as processes of this machine; always as
 * processes when `POSTGRES_BIN` names the programs. Tests that kill, pause, restart or replicate their server call
 * `startPostgresProcess`.
 */
export async function startPostgresServer(
  options: PostgresServerOptions = {},
): Promise<PostgresServer> {
  const containers = await findContainers({ unlessNamed: 'POSTGRES_BIN' })
  if (containers === undefined) return startPostgresProcess(options)
  const container = await startContainer(containers, {
    image: options.image ?? 'postgres:17-alpine',
    port: 5432,
    command: ['postgres', ...settingArguments(settingsOf(options))],
    environment: {
      POSTGRES_HOST_AUTH_METHOD: 'trust',
      POSTGRES_INITDB_ARGS: NEW_CLUSTER.join(' '),
    },
    // The first is a server that only fills the new volume, and is stopped again.
    ready: { line: /database system is ready to accept connections/, times: 2 },
  })
  return { ...postgresAt(container), [Symbol.asyncDispose]: () => container.stop() }
}
