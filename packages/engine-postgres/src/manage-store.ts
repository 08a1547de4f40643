import type { Random } from '@tidemark/contracts'
import { Connections } from './connection/connections.ts'
import { Statements } from './connection/statements.ts'
import { detectDialect } from './connection/detect-dialect.ts'
import { resolveOptions, type PostgresEngineOptions } from './options.ts'
import { grantSchema } from './schema/grant-schema.ts'
import {
  checkSchema,
  initSchema,
  migrateSchema,
  type CheckedSchema,
  type SchemaOptions,
} from './schema/manage-schema.ts'

/** Where a store is, or is to be. Exactly one of `url` and `pool` is needed. */
export type PostgresStoreLocation = Pick<
  PostgresEngineOptions,
  'url' | 'pool' | 'schema' | 'statementTimeoutMs' | 'connectTimeoutMs' | 'clock' | 'random'
>

/** A store whose schema this program can use. */
export interface PostgresStoreSchema {
  /** Random, made with the store, never changes. */
  readonly storeId: string
  readonly schema: string
  /** Of the schema. */
  readonly version: number
  /** As `server_version_num` has it: 150004 is 15.4. */
  readonly serverVersion: number
}

/**
 * Makes a store, unless there is one. Any number of processes may do this at once: one makes it.
 *
 * Rejects with ERR_STORE_IN_USE (a schema of that name that is no store), ERR_STORE_FORMAT (one of another
 * version), ERR_STORE_DAMAGED (something in it is lost), ERR_STORE_UNAVAILABLE (not reached, no privilege, a
 * standby), ERR_SERVER_UNSUPPORTED, ERR_INVALID_OPTION (also for a role that does not exist).
 */
export async function initPostgresStore(
  location: PostgresStoreLocation,
  { grantTo }: { readonly grantTo?: string | undefined } = {},
): Promise<PostgresStoreSchema & { readonly created: boolean }> {
  return withSchema(location, async (options, random) => {
    const made = await initSchema({ ...options, random })
    if (grantTo !== undefined) await grantSchema(options, { role: grantTo })
    return made
  })
}

/**
 * Brings a store to this program's version, all of it or nothing; `changed` tells whether there was anything to
 * do. Programs of the version before fail afterwards, so they are to be ended first.
 *
 * Rejects as `initPostgresStore` does; with ERR_STORE_FORMAT when there is no store, or a newer one.
 */
export async function migratePostgresStore(
  location: PostgresStoreLocation,
): Promise<PostgresStoreSchema & { readonly from: number; readonly changed: boolean }> {
  return withSchema(location, migrateSchema)
}

/** Looks whether this program can use the store, and changes nothing. Rejects as `initPostgresStore` does. */
export async function checkPostgresStore(
  location: PostgresStoreLocation,
): Promise<PostgresStoreSchema> {
  return withSchema(location, checkSchema)
}

async function withSchema<Result extends CheckedSchema>(
  location: PostgresStoreLocation,
  act: (options: SchemaOptions, random: Random) => Promise<Result>,
): Promise<Result & PostgresStoreSchema> {
  const { schema, connections: settings, clock, random } = resolveOptions(location)
  await using connections = new Connections({ ...settings, clock, random })
  // At once: an address that nobody answers at is a mistake here, not an outage to wait for.
  const { version: serverVersion } = await connections.open()
  const dialect = await detectDialect(connections)
  const statements = new Statements(schema, { dialect, clock: 'server' })
  return { ...(await act({ connections, statements }, random)), schema, serverVersion }
}
