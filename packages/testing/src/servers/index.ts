export {
  ensureRedisServer,
  findRedisServer,
  type EnsureRedisServerOptions,
  type RedisServerSource,
} from './ensure-redis-server.ts'
export { freePort } from './free-port.ts'
export { KillAtExit } from './kill-at-exit.ts'
export { RedisClusterServers, startRedisCluster } from './redis-cluster.ts'
export { RedisServer, startRedisServer, type RedisServerOptions } from './redis-server.ts'
export { SentinelSet, startSentinelSet } from './sentinel-set.ts'
export { startTcpProxy, TcpProxy, type ProxyDirection } from './tcp-proxy.ts'
