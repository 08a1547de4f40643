import { InvalidOptionError } from '@tidemark/contracts'

export interface PostgresStatements {
  /** Does nothing where it was done before. */
  readonly create: string
  /** The table, quoted. */
  readonly target: string
  /** $1 JSON list of rows: `partition_key`, `id`, `epoch`, `lsn`, `deleted`, and columns; one for each key. */
  readonly upsert: string
}

const OWN_COLUMNS = ['partition_key', 'id', 'epoch', 'lsn', 'deleted_at', 'deleted']
/** A name or several, sizes, and whether it is a list: `double precision`, `numeric(10, 2)`, `text[]`. */
const TYPE = /^[a-z_][a-z0-9_. ]*(\(\d+(, ?\d+)?\))?( with(out)? time zone)?(\[\])?$/i
const MAX_NAME_BYTES = 63

/** @throws ERR_INVALID_OPTION */
export function postgresStatements(
  table: string,
  columns: readonly { readonly name: string; readonly type: string }[],
): PostgresStatements {
  const path = table.split('.')
  const target = path.map(quoted).join('.')
  for (const { name, type } of columns) {
    if (OWN_COLUMNS.includes(name)) {
      throw new InvalidOptionError(
        `columns.${name} is a column of the sink's own; name it otherwise`,
      )
    }
    if (!TYPE.test(type)) {
      throw new InvalidOptionError(`columns.${name}.type must be a type of SQL, got "${type}"`)
    }
  }
  const typed = columns.map(({ name, type }) => `, ${quoted(name)} ${type}`).join('')
  const named = columns.map(({ name }) => `, ${quoted(name)}`).join('')
  const assigned = columns
    .map(({ name }) => `, ${quoted(name)} = excluded.${quoted(name)}`)
    .join('')
  return {
    create: `
      CREATE TABLE IF NOT EXISTS ${target} (
        partition_key text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
        epoch bigint NOT NULL, lsn bigint NOT NULL, deleted_at timestamptz${typed},
        PRIMARY KEY (partition_key, id))`,
    target,
    upsert: `
      INSERT INTO ${target} AS present (partition_key, id, epoch, lsn, deleted_at${named})
      SELECT partition_key, id, epoch, lsn, CASE WHEN deleted THEN now() END${named}
      FROM jsonb_to_recordset($1::jsonb)
        AS entry(partition_key text, id text, epoch bigint, lsn bigint, deleted boolean${typed})
      ON CONFLICT (partition_key, id) DO UPDATE SET
        epoch = excluded.epoch, lsn = excluded.lsn, deleted_at = excluded.deleted_at${assigned}
      WHERE (present.epoch, present.lsn) < (excluded.epoch, excluded.lsn)`,
  }
}

/** $1 a table, quoted: `schema` and `name` of the one table that this means. */
export const FIND_TABLE = `
  SELECT nspname AS schema, relname AS name
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE pg_class.oid = $1::text::regclass`

export interface BindingStatements {
  /** Does nothing where it was done before. */
  readonly create: string
  /** $1 table, $2 identity of the feed, $3 the table with its schema: answers whose the table is, with one row or more. */
  readonly bind: string
}

/** Of the table in a schema that says which feed each table there is filled from. */
export function bindingStatements(schema: string): BindingStatements {
  // Beside the table, where whoever may make tables may make it too.
  const sinks = `${quoted(schema)}.tidemark_sinks`
  return {
    create: `CREATE TABLE IF NOT EXISTS ${sinks} (target text PRIMARY KEY, feed text NOT NULL)`,
    // The update that changes nothing makes it answer what was there. Release 0.1.0 wrote the schema, too, if it was given.
    bind: `
      WITH bound AS (
        INSERT INTO ${sinks} AS present (target, feed)
        SELECT $1::text, coalesce((SELECT feed FROM ${sinks} WHERE target = $3), $2::text)
        ON CONFLICT (target) DO UPDATE SET feed = present.feed RETURNING feed)
      SELECT feed FROM bound UNION SELECT feed FROM ${sinks} WHERE target = $3`,
  }
}

/** @throws ERR_INVALID_OPTION for what PostgreSQL would cut off or not take */
function quoted(name: string): string {
  const bytes = new TextEncoder().encode(name).length
  if (bytes === 0 || bytes > MAX_NAME_BYTES || name.includes('\0')) {
    throw new InvalidOptionError(
      `a name of PostgreSQL must have 1 to ${MAX_NAME_BYTES} bytes, got ${JSON.stringify(name)}`,
    )
  }
  return `"${name.replaceAll('"', '""')}"`
}
