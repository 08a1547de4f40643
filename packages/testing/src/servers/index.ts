export {
  ensureRedisServer,
  findRedisServer,
  type EnsureRedisServerOptions,
  type RedisServerSource,
} from './ensure-redis-server.ts'
