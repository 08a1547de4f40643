import { InvalidOptionError, type Clock, type Random } from '@tidemark/contracts'
import type { PostgresPool } from './postgres-pool.ts'

/** Exactly one of `url` and `pool` is needed. */
export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database`. The pool is made here and ended by `close`. */
  readonly url?: string | undefined
  /** A `pg` Pool of the caller, who ends it after `close`. */
  readonly pool?: PostgresPool | undefined
  /** A server that follows the first one, for feed reading. @default none */
  readonly replicaUrl?: string | undefined
  /** As `replicaUrl`, a pool of the caller. @default none */
  readonly replicaPool?: PostgresPool | undefined
  /** Of each server; for a passed-in pool also not more than its own `max`. @default 10 (as `pg`) */
  readonly maxConnections?: number | undefined
  /** How long one statement may run. @default 30_000 */
  readonly statementTimeoutMs?: number | undefined
  /** How long making a connection may take; for a passed-in pool its own setting holds. @default 5_000 */
  readonly connectTimeoutMs?: number | undefined
  /** How long a call waits for a server that restarts or fails over. @default 30_000 */
  readonly outageTimeoutMs?: number | undefined
  /** After it the server ends a transaction whose process does not go on. @default 5_000 */
  readonly idleInTransactionTimeoutMs?: number | undefined
  /**
   * Whether statements are prepared once a connection. Switched off by itself when a pooler turns out to lose
   * them. @default true
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

/** Does not repeat the URL, nor keep the parser's error, which does: a URL holds a password. */
function checkUrl(url: string): void {
  const parsed = URL.parse(url)
  if (parsed === null || !['postgres:', 'postgresql:'].includes(parsed.protocol)) {
    throw new InvalidOptionError(
      'the URL must look like postgres://user:password@host:5432/database, with %-escapes for special characters in the password',
    )
  }
}
