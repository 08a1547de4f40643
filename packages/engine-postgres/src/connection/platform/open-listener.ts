import { Client } from 'pg'
import type { ListeningClient } from '../postgres-pool.ts'

export interface OwnListeningClient extends ListeningClient {
  connect(): Promise<unknown>
  end(): Promise<void>
}

/** A `pg` Client for LISTEN, not connected yet. */
export function openListener(
  url: string,
  options: { readonly connectTimeoutMs: number; readonly applicationName: string },
): OwnListeningClient {
  return new Client({
    connectionString: url,
    connectionTimeoutMillis: options.connectTimeoutMs,
    application_name: options.applicationName,
    keepAlive: true,
  })
}
