import { startPostgresProcess, type PostgresProcess } from '@tidemark/testing/servers'

/**
 * What differs from PostgreSQL's defaults, for both sides alike. A quarter of a gigabyte of shared buffers would
 * measure the kernel's cache; a checkpoint in the middle of a run, whichever side it hits.
 */
const SETTINGS = { shared_buffers: '1GB', max_wal_size: '8GB', checkpoint_timeout: '30min' }

/** A PostgreSQL of a scenario's own. It syncs: what is measured is durable. */
export function startBenchServer(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresProcess> {
  return startPostgresProcess({ durable: true, settings: { ...SETTINGS, ...settings } })
}
