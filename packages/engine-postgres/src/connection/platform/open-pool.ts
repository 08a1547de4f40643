import { Pool } from 'pg'
import type { PostgresPool } from '../postgres-pool.ts'

export interface OpenPoolOptions {
  readonly maxConnections: number
  readonly connectTimeoutMs: number
  readonly applicationName: string
  /** Sent at the start of a connection. Undefined for a pooler, which refuses them. */
  readonly settings?:
    | { readonly statementTimeoutMs: number; readonly idleInTransactionTimeoutMs: number }
    | undefined
}

/**
 * Compiling a statement takes 100 ms, and the statements here read at most a few thousand rows, whatever the planner
 * estimates. A single statement has the default isolation, and the statements here take locks in order to see earlier
 * commits. Lists of values are passed as texts of arrays, with NULL in them.
 */
const SETTINGS = '-c jit=off -c array_nulls=on -c default_transaction_isolation=read\\ committed'

/** A `pg` Pool. The same timeouts in the URL take precedence. */
export function openPool(url: string, options: OpenPoolOptions): PostgresPool {
  const { settings } = options
  return new Pool({
    ...(settings === undefined ? { connectionString: url } : withSettings(url)),
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    application_name: options.applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    idleTimeoutMillis: 60_000,
    ...(settings !== undefined && {
      statement_timeout: settings.statementTimeoutMs,
      idle_in_transaction_session_timeout: settings.idleInTransactionTimeoutMs,
    }),
  })
}

/** Appended to the URL's own settings of the same kind, which would otherwise replace these. */
function withSettings(url: string): {
  readonly connectionString: string
  readonly options: string
} {
  const parsed = new URL(url)
  const given = parsed.searchParams.get('options')
  if (given === null) return { connectionString: url, options: SETTINGS }
  parsed.searchParams.delete('options')
  return { connectionString: parsed.href, options: `${given} ${SETTINGS}` }
}
