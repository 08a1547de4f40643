import { Pool } from 'pg'
import type { PostgresPool } from '../postgres-pool.ts'

export interface OpenPoolOptions {
  readonly maxConnections: number
  readonly connectTimeoutMs: number
  readonly applicationName: string
  /** Sent when a connection starts; undefined for a pooler, which refuses them. */
  readonly settings?:
    { readonly statementTimeoutMs: number; readonly idleInTransactionTimeoutMs: number } | undefined
}

/** A `pg` Pool. What the URL says of the same settings wins. */
export function openPool(url: string, options: OpenPoolOptions): PostgresPool {
  const { settings } = options
  return new Pool({
    connectionString: url,
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    application_name: options.applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    idleTimeoutMillis: 60_000,
    ...(settings !== undefined && {
      statement_timeout: settings.statementTimeoutMs,
      idle_in_transaction_session_timeout: settings.idleInTransactionTimeoutMs,
      // Compiling a statement takes 100 ms; ours read at most a few thousand rows, whatever the planner estimates.
      options: '-c jit=off',
    }),
  })
}
