import { InvalidOptionError } from '@tidemark/contracts'
import { quoteIdentifier } from '../connection/statements.ts'
import type { SchemaOptions } from './manage-schema.ts'

/**
 * Allows `role` to use the store: to read and write rows and to call functions, but not to change the schema. Also
 * applies to objects from later migrations of the present role. Call it as the schema's owner.
 *
 * Rejects with ERR_INVALID_OPTION when there is no such role.
 */
export async function grantSchema(
  { connections, statements }: SchemaOptions,
  { role }: { readonly role: string },
): Promise<void> {
  const script = statements.fill(GRANTS).replaceAll('"role"', () => quoteIdentifier(role))
  await connections.transaction(async (sql) => {
    const found = await sql.rows(statements.of(FIND_ROLE), [role])
    if (found.length === 0) throw new InvalidOptionError(`there is no role ${role} on the server`)
    await sql.script(script)
  })
}

const FIND_ROLE = 'SELECT 1 FROM pg_catalog.pg_roles WHERE rolname = $1'

const GRANTS = `
GRANT USAGE ON SCHEMA :schema TO "role";
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA :schema TO "role";
REVOKE INSERT, UPDATE, DELETE ON :schema.store FROM "role";
GRANT USAGE ON ALL SEQUENCES IN SCHEMA :schema TO "role";
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA :schema TO "role";
ALTER DEFAULT PRIVILEGES IN SCHEMA :schema GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO "role";
ALTER DEFAULT PRIVILEGES IN SCHEMA :schema GRANT USAGE ON SEQUENCES TO "role";
ALTER DEFAULT PRIVILEGES IN SCHEMA :schema GRANT EXECUTE ON FUNCTIONS TO "role";
`
