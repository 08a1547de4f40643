import { booleanColumn, numberColumn, textColumn } from '../connection/columns.ts'
import type { Sql, SqlRow } from '../connection/sql.ts'
import type { Statements } from '../connection/statements.ts'

/** The connections that schema management needs. */
export interface SchemaConnections {
  /** All its statements see the same snapshot. */
  snapshot<Result>(act: (sql: Sql) => Promise<Result>): Promise<Result>
  transaction<Result>(act: (sql: SchemaSql) => Promise<Result>): Promise<Result>
}

export interface SchemaSql extends Sql {
  /** One or several statements without values. */
  script(text: string): Promise<void>
}

/** A schema as found, and its server. */
export interface SchemaState {
  readonly server: {
    /** As `server_version_num`: 150004 is 15.4. */
    readonly version: number
    readonly product: string
    readonly encoding: string
    readonly isStandby: boolean
  }
  readonly exists: boolean
  /** `table doc`, `index doc_key`, `sequence database_number`, `function commit_group`, `view …`. */
  readonly objects: ReadonlySet<string>
  /** From the table `store`, if it has these columns; undefined without a row. */
  readonly store: StoreRow | undefined
  /** Whether there is a table `store` with these columns. `unreleased`: with those of before the first release. */
  readonly storeTable: 'present' | 'unreleased' | 'missing'
}

export interface StoreRow {
  readonly version: number
  readonly storeId: string
  /** See `functionsMark`. */
  readonly functions: string
}

/**
 * Reads the catalog, which every role can read, and the table `store`, if it exists. Both are as of one moment, because
 * another process may be migrating.
 */
export async function inspectSchema(
  connections: Pick<SchemaConnections, 'snapshot'>,
  statements: Statements,
): Promise<SchemaState> {
  return connections.snapshot((sql) => inspectWith(sql, statements))
}

async function inspectWith(sql: Sql, statements: Statements): Promise<SchemaState> {
  const [row = []] = await sql.rows(statements.of(INSPECT), [statements.schema])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by INSPECT
  const objects = new Set(JSON.parse(textColumn(row, 5)) as string[])
  const storeTable = storeTableOf(textColumn(row, 6))
  return {
    server: {
      version: numberColumn(row, 0),
      product: textColumn(row, 1),
      encoding: textColumn(row, 2),
      isStandby: booleanColumn(row, 3),
    },
    exists: booleanColumn(row, 4),
    objects,
    store: storeTable === 'present' ? await readStoreRow(sql, statements) : undefined,
    storeTable,
  }
}

async function readStoreRow(sql: Sql, statements: Statements): Promise<StoreRow | undefined> {
  const [row] = await sql.rows(statements.of(READ_STORE))
  return row === undefined ? undefined : storeRow(row)
}

/** Of those of its columns that say which store it is, in the order of their names. */
function storeTableOf(columns: string): SchemaState['storeTable'] {
  if (columns === 'functions,one,store_id,tables') return 'present'
  return columns === 'functions,one,store_id,version' ? 'unreleased' : 'missing'
}

/** From `SELECT tables, store_id, functions`. */
export function storeRow(row: SqlRow): StoreRow {
  return {
    version: numberColumn(row, 0),
    storeId: textColumn(row, 1),
    functions: textColumn(row, 2),
  }
}

const READ_STORE = 'SELECT tables, store_id, functions FROM :schema.store'

/** Objects of extensions are not counted: an extension may live in `public` beside a store. */
const INSPECT = `
SELECT current_setting('server_version_num'), version(), current_setting('server_encoding'),
  pg_is_in_recovery(),
  EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1),
  (SELECT coalesce(json_agg(o.name), '[]') FROM (
    SELECT CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'table' WHEN 'i' THEN 'index'
        WHEN 'S' THEN 'sequence' ELSE 'view' END || ' ' || c.relname AS name
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'i', 'S', 'v', 'm', 'f')
        AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
          WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
    UNION
    SELECT 'function ' || p.proname
      FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname = $1
        AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d
          WHERE d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')) o),
  (SELECT coalesce(string_agg(a.attname, ',' ORDER BY a.attname), '') FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname = 'store' AND c.relkind = 'r' AND NOT a.attisdropped
      AND a.attname IN ('one', 'tables', 'version', 'store_id', 'functions'))`
