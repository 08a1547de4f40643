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

/**
 * Compiling a statement takes 100 ms; ours read at most a few thousand rows, whatever the planner estimates. A
 * statement on its own has the default isolation, and ours take locks whose point is to see what came before.
 */
const SETTINGS = '-c jit=off -c default_transaction_isolation=read\\ committed'

/** A `pg` Pool. What the URL says of the same timeouts wins. */
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

/** Behind what the URL has of the same kind, which would take the place of ours. */
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
