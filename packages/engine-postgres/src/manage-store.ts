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

/** The place of a store that exists or is to be created. Give either `url` or `pool`. */
export type PostgresStoreLocation = Pick<
  PostgresEngineOptions,
  'url' | 'pool' | 'schema' | 'statementTimeoutMs' | 'connectTimeoutMs' | 'clock' | 'random'
>

/** A store whose schema this program can use. */
export interface PostgresStoreSchema {
  /** A random id. It is created with the store and never changes. */
  readonly storeId: string
  readonly schema: string
  /** Version of the schema. */
  readonly version: number
  /** In the form of `server_version_num`: 150004 is 15.4. */
  readonly serverVersion: number
}

/**
 * Creates a store if it does not exist. Safe to call from any number of processes at once: one creates it.
 *
 * Rejects with ERR_STORE_IN_USE (a schema of that name that is not a store), ERR_STORE_FORMAT (a store of another
 * version), ERR_STORE_DAMAGED (something in it is lost), ERR_STORE_UNAVAILABLE (not reached, no privilege, a standby),
 * ERR_SERVER_UNSUPPORTED, ERR_INVALID_OPTION (also for a role that does not exist).
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
 * Migrates a store to this program's version, completely or not at all. `changed` is true if there was anything to do.
 * Programs of the previous version fail afterwards, so end them first.
 *
 * Rejects as `initPostgresStore` does, and with ERR_STORE_FORMAT when there is no store, or a newer one.
 */
export async function migratePostgresStore(
  location: PostgresStoreLocation,
): Promise<PostgresStoreSchema & { readonly from: number; readonly changed: boolean }> {
  return withSchema(location, migrateSchema)
}

/** Checks that this program can use the store, and changes nothing. Rejects as `initPostgresStore` does. */
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
  // At once: an address without a server is a mistake here, not an outage to wait for.
  const { version: serverVersion } = await connections.open()
  const dialect = await detectDialect(connections)
  const statements = new Statements(schema, { dialect, clock: 'server' })
  return { ...(await act({ connections, statements }, random)), schema, serverVersion }
}
