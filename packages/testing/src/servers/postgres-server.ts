import { createDatabaseAt, queryAt } from './postgres-query.ts'

export interface PostgresServerOptions {
  /** Settings of `postgresql.conf` by name. They win over the kit's own. @default none */
  readonly settings?: Readonly<Record<string, string>> | undefined
  /**
   * What is committed survives a crash of the machine: `fsync` and `full_page_writes` stay on. Without it they are
   * off, and a commit survives only the end of PostgreSQL's processes. @default not durable
   */
  readonly durable?: true | undefined
  /** What a container is made of. A process is whichever PostgreSQL is found. @default 'postgres:17-alpine' */
  readonly image?: string | undefined
}

export interface PostgresQueryOptions {
  /** Values of `$1`, `$2` and so on. @default none */
  readonly values?: readonly unknown[]
  /** Where the statement runs. @default the database `postgres` */
  readonly database?: string
}

/** A PostgreSQL for tests, on this machine or in a container; superuser `postgres` without password. */
export interface PostgresServer extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** @default the database `postgres` */
  url(database?: string): string
  /** A new empty database with a name of its own. Resolves with its URL. */
  createDatabase(): Promise<string>
  /** Runs one statement on a connection of its own and resolves with its rows. */
  query(text: string, options?: PostgresQueryOptions): Promise<Record<string, unknown>[]>
}

/** What one can ask of a server wherever it runs. */
export function postgresAt({
  host,
  port,
}: {
  readonly host: string
  readonly port: number
}): Omit<PostgresServer, typeof Symbol.asyncDispose> {
  const url = (database = 'postgres'): string => `postgres://postgres@${host}:${port}/${database}`
  return {
    host,
    port,
    url,
    createDatabase: () => createDatabaseAt(url()),
    query: (text, { values = [], database } = {}) => queryAt(url(database), text, values),
  }
}

/** The settings of a server, but for where it listens. */
export function settingsOf({
  durable,
  settings = {},
}: PostgresServerOptions): Readonly<Record<string, string>> {
  return { ...SETTINGS, ...(durable ? {} : NOT_DURABLE), ...settings }
}

const SETTINGS = {
  max_connections: '200',
  synchronous_commit: 'on',
  // How long a replica waits before it tries its primary again; PostgreSQL's 5 s would be most of a test.
  wal_retrieve_retry_interval: '100ms',
}
const NOT_DURABLE = { fsync: 'off', full_page_writes: 'off' }

/** `postgres` takes its settings as arguments, too. */
export function settingArguments(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
