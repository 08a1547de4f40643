/**
 * Servers for tests.
 *
 * @packageDocumentation
 * @public
 */

export { LOCALHOST_TLS } from './localhost-tls.ts'
export { ensureNode, type EnsureNodeOptions } from './ensure-node.ts'
export {
  ensureEmbeddedPostgres,
  type EnsureEmbeddedPostgresOptions,
} from './ensure-embedded-postgres.ts'
export {
  ensureNatsServer,
  type EnsureNatsServerOptions,
  type NatsServerProgram,
} from './ensure-nats-server.ts'
export {
  ensurePgBouncer,
  type EnsurePgBouncerOptions,
  type PgBouncerProgram,
} from './ensure-pgbouncer.ts'
export { ensurePostgresServer, type EnsurePostgresServerOptions } from './ensure-postgres-server.ts'
export { ensurePromtool, type EnsurePromtoolOptions } from './ensure-promtool.ts'
export { ensureProton, type EnsureProtonOptions, type ProtonPython } from './ensure-proton.ts'
export { ensureRedisServer, type EnsureRedisServerOptions } from './ensure-redis-server.ts'
export { ensureChromium, type EnsureChromiumOptions } from './ensure-chromium.ts'
export { freePort } from './free-port.ts'
export { KillAtExit } from './kill-at-exit.ts'
export { NatsProcess, startNatsProcess } from './nats-process.ts'
export { PgBouncer, startPgBouncer, type PgBouncerOptions } from './pgbouncer.ts'
export {
  PostgresProcess,
  startPostgresProcess,
  startPostgresReplica,
  type PostgresProcessOptions,
  type PostgresStopMode,
} from './postgres-process.ts'
export type {
  PostgresQueryOptions,
  PostgresServer,
  PostgresServerOptions,
} from './postgres-server.ts'
export {
  RedisClusterServers,
  startRedisCluster,
  type RedisClusterOptions,
} from './redis-cluster.ts'
export { RedisProcess, startRedisProcess, type RedisProcessOptions } from './redis-process.ts'
export type { RedisServer, RedisServerOptions } from './redis-server.ts'
export { SentinelSet, startSentinelSet } from './sentinel-set.ts'
export { sharedPostgres, type SharedPostgres } from './shared-postgres.ts'
export { startPostgresServer } from './start-postgres-server.ts'
export { startRedisServer } from './start-redis-server.ts'
export { startTcpProxy, TcpProxy, type ProxyDirection } from './tcp-proxy.ts'
