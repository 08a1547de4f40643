import { InvalidOptionError, type Clock, type Random } from '@tidemark/contracts'
import type { PostgresPool } from './postgres-pool.ts'

/** Give either `url` or `pool`. */
export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database`. The pool is created here and ended by `close`. */
  readonly url?: string | undefined
  /** Your own `pg` Pool. End it after `close`. */
  readonly pool?: PostgresPool | undefined
  /** A server that follows the first one, for feed reading. @default none */
  readonly replicaUrl?: string | undefined
  /** Like `replicaUrl`, but your own pool. @default none */
  readonly replicaPool?: PostgresPool | undefined
  /** For each server. For your own pool, its `max` also applies. @default 10 (as `pg`) */
  readonly maxConnections?: number | undefined
  /** Maximum duration of one statement. @default 30_000 */
  readonly statementTimeoutMs?: number | undefined
  /** Maximum time to make a connection. Your own pool uses its own setting. @default 5_000 */
  readonly connectTimeoutMs?: number | undefined
  /** How long a call waits for a server that restarts or fails over. @default 30_000 */
  readonly outageTimeoutMs?: number | undefined
  /** After this time the server ends a transaction whose process does not continue. @default 5_000 */
  readonly idleInTransactionTimeoutMs?: number | undefined
  /**
   * Whether to prepare statements once for each connection. Turns itself off when a pooler loses them. @default true
   */
  readonly preparedStatements?: boolean | undefined
  /** Shown in `pg_stat_activity`. @default 'tidemark' */
  readonly applicationName?: string | undefined
  readonly clock: Clock
  readonly random: Random
}

export interface ResolvedConnectionOptions {
  readonly primary: string | PostgresPool
  readonly replica: string | PostgresPool | undefined
  readonly maxConnections: number
  readonly statementTimeoutMs: number
  readonly connectTimeoutMs: number
  readonly outageTimeoutMs: number
  readonly idleInTransactionTimeoutMs: number
  readonly preparedStatements: boolean
  readonly applicationName: string
  readonly clock: Clock
  readonly random: Random
}

/** Throws `InvalidOptionError`. */
export function resolveConnectionOptions(options: ConnectionOptions): ResolvedConnectionOptions {
  const { maxConnections = 10, statementTimeoutMs = 30_000, connectTimeoutMs = 5_000 } = options
  const { outageTimeoutMs = 30_000, idleInTransactionTimeoutMs = 5_000 } = options
  const { preparedStatements = true, applicationName = 'tidemark', clock, random } = options
  const primary = oneOf(options.url, options.pool, 'url and pool')
  if (primary === undefined) {
    throw new InvalidOptionError('a url or a pool is needed')
  }
  const replica = oneOf(options.replicaUrl, options.replicaPool, 'replicaUrl and replicaPool')
  if (!Number.isSafeInteger(maxConnections) || maxConnections < 1) {
    throw new InvalidOptionError(`maxConnections must be a positive integer, got ${maxConnections}`)
  }
  const times = { statementTimeoutMs, connectTimeoutMs, idleInTransactionTimeoutMs }
  for (const [name, value] of Object.entries({ ...times, outageTimeoutMs: outageTimeoutMs + 1 })) {
    // PostgreSQL keeps its timeouts in 32 bits.
    if (!(value > 0 && value < 2 ** 31)) {
      throw new InvalidOptionError(`${name} must be above 0 and below 2^31 ms, got ${value}`)
    }
  }
  return {
    primary,
    replica,
    maxConnections,
    statementTimeoutMs: Math.ceil(statementTimeoutMs),
    connectTimeoutMs: Math.ceil(connectTimeoutMs),
    outageTimeoutMs,
    idleInTransactionTimeoutMs: Math.ceil(idleInTransactionTimeoutMs),
    preparedStatements,
    applicationName,
    clock,
    random,
  }
}

function oneOf(
  url: string | undefined,
  pool: PostgresPool | undefined,
  names: string,
): string | PostgresPool | undefined {
  if (url !== undefined && pool !== undefined) {
    throw new InvalidOptionError(`only one of ${names} can be given`)
  }
  if (url !== undefined) checkUrl(url)
  if (pool?.options?.binary === true) {
    throw new InvalidOptionError(
      'a pool with the option binary cannot be used: columns are read as text',
    )
  }
  return url ?? pool
}

/** Does not repeat the URL, nor keep the parser's error, which contains it: a URL can hold a password. */
function checkUrl(url: string): void {
  const parsed = URL.parse(url)
  if (parsed === null || !['postgres:', 'postgresql:'].includes(parsed.protocol)) {
    throw new InvalidOptionError(
      'the URL must look like postgres://user:password@host:5432/database, with %-escapes for special characters in the password',
    )
  }
}
