import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresProcess } from '@tidemark/testing/servers'

/** How many connections were ended, by the name of the program whose they were. */
export type Terminations = ReadonlyMap<string, number>

/** Ends connections by chance until `signal` aborts, `everyMs` apart on average. */
export async function terminateConnections(
  server: PostgresProcess,
  {
    database,
    everyMs,
    chance,
    signal,
  }: {
    readonly database: string
    readonly everyMs: number
    readonly chance: () => number
    readonly signal: AbortSignal
  },
): Promise<Terminations> {
  const ended = new Map<string, number>()
  while (!signal.aborted) {
    // Of those that are at something, if there are any: one that is idle is no loss.
    const [row] = await server.query(
      `SELECT application_name AS name, pg_terminate_backend(pid) AS ended FROM (
        SELECT pid, application_name FROM pg_stat_activity
        WHERE datname = $1 AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        ORDER BY state = 'active' AND $2 DESC, random() LIMIT 1) one`,
      { values: [database, chance() < 0.7] },
    )
    if (row?.['ended'] === true) {
      const name = String(row['name'])
      ended.set(name, (ended.get(name) ?? 0) + 1)
    }
    await sleep(chance() * 2 * everyMs)
  }
  return ended
}

/** When the server's parent process was started; another value is another start. */
export async function serverStart(server: PostgresProcess): Promise<string> {
  const [row] = await server.query('SELECT pg_postmaster_start_time()::text AS at')
  return String(row?.['at'])
}

/** The name of a URL's database. */
export function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1)
}

/** The URL with a name for the connections that are made by it. */
export function named(url: string, name: string): string {
  const changed = new URL(url)
  changed.searchParams.set('application_name', name)
  return changed.href
}
