import type { PostgresStoreSchema } from '@tidemark/engine-postgres'
import { postgresLocation } from '../postgres-location.ts'

/** Options of commands that work on the schema of a store. */
export interface SchemaOptions {
  readonly schema?: string
  readonly json?: boolean
}

/** Under the help of each of them. */
export const PASSWORD_HELP = `
You can leave the password out of the URL: PGPASSWORD and ~/.pgpass are used.
Instead of --schema, the URL can end in ?schema=name, as for --store of the
other commands.`

/** `--schema` takes precedence over the URL. */
export function schemaLocation(
  where: string,
  options: SchemaOptions,
): { readonly url: string; readonly schema: string | undefined } {
  const { url, schema } = postgresLocation(where) ?? { url: where }
  return { url, schema: options.schema ?? schema }
}

/** For people. */
export function schemaText(found: PostgresStoreSchema): string {
  const { schema, version, storeId, serverVersion } = found
  const server = `${Math.floor(serverVersion / 10_000)}.${serverVersion % 10_000}`
  return `a store in schema ${schema}, version ${version}, id ${storeId}, on PostgreSQL ${server}`
}
