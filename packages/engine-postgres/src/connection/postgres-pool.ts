/**
 * What the engine needs of a `pg` pool (8.16 or later). Structural types: any copy of `pg` fits, and so does a
 * compatible pool of another library.
 */
export interface PostgresPool {
  connect(): Promise<PostgresClient>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  /** For each new connection, before a caller gets it. */
  on(event: 'connect', listener: (client: PostgresClient) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'connect', listener: (client: PostgresClient) => void): unknown
  readonly options?: PostgresPoolOptions | undefined
  /** True from the call of `end` on. */
  readonly ending?: boolean | undefined
}

export interface PostgresPoolOptions {
  /** Maximum number of connections. @unit connections @range 1 or more @default 10 (as `pg`) */
  readonly max?: number | undefined
  /** A pool that asks for PostgreSQL's binary format cannot be used. @default false */
  readonly binary?: boolean | undefined
}

/** One connection, taken from a pool. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresAnswer | PostgresAnswer[]>
  /** With an error or true, the connection is ended instead of kept. */
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: PostgresNotification) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /**
   * Identifies the connection in a request to cancel, with `secretKey`. Without them, a statement is cancelled by
   * ending its connection.
   */
  readonly processID?: number | null | undefined
  readonly secretKey?: number | null | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly ssl?: unknown
}

export interface PostgresQuery {
  text: string
  /** Sent as a prepared statement of this name. */
  name?: string
  values?: PostgresValue[]
  rowMode: 'array'
  types: PostgresTypes
}

/** A parameter of a statement. */
export type PostgresValue = string | number | boolean | null | Buffer

export interface PostgresTypes {
  /** For every type and format. Declared by `pg` with overloads that no other function can have. */
  // oxlint-disable-next-line typescript/no-explicit-any -- pg's own declaration returns any
  getTypeParser: any
}

/** Rows of texts, as the server sends them. */
export interface PostgresAnswer {
  readonly command: string
  readonly rows: (string | null)[][]
}

/** A connection that hears notifications. */
export interface ListeningClient {
  query(query: PostgresQuery): Promise<PostgresAnswer | PostgresAnswer[]>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: PostgresNotification) => void): unknown
  readonly processID?: number | null | undefined
}

export interface PostgresNotification {
  readonly channel: string
  readonly payload?: string | undefined
}
