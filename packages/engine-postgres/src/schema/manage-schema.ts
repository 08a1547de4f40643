import { StoreFormatError, StoreUnavailableError, type Random } from '@tidemark/contracts'
import { textColumn } from '../connection/columns.ts'
import { sqlState } from '../connection/postgres-error.ts'
import type { Statements } from '../connection/statements.ts'
import {
  inspectSchema,
  storeRow,
  type SchemaConnections,
  type SchemaSql,
  type SchemaState,
} from './inspect-schema.ts'
import { assertPrimary, judgeSchema, type SchemaVerdict } from './judge-schema.ts'
import { STORE_SCHEMA } from './migrations.ts'
import { functionsMark, functionsText, namesInMark, type SchemaProgram } from './schema-program.ts'

export interface SchemaOptions {
  readonly connections: SchemaConnections
  readonly statements: Statements
  /** @default this program's */
  readonly program?: SchemaProgram | undefined
}

/** A schema that this program can use. */
export interface CheckedSchema {
  readonly storeId: string
  readonly version: number
}

/** Once another process has won, the next look finds its store. More turns are needed only when winners roll back. */
const ATTEMPTS = 10

/**
 * Creates a store in the schema if there is none. Safe to call from any number of processes at once: one creates it. A
 * missing schema is created; one that exists must be empty.
 *
 * Rejects with the errors of `judgeSchema`, with ERR_STORE_FORMAT when there is a store that `migrateSchema` has to
 * change first, and with ERR_STORE_UNAVAILABLE on a standby or without the privilege.
 */
export async function initSchema(
  options: SchemaOptions & { readonly random: Random },
): Promise<CheckedSchema & { readonly created: boolean }> {
  let lost: unknown
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const { state, verdict } = await look(options)
    if (verdict.kind !== 'missing') return { ...usable(verdict, options), created: false }
    assertPrimary(state)
    try {
      return { ...(await create(options, verdict)), created: true }
    } catch (error) {
      if (!TAKEN.has(sqlState(error) ?? '')) throw explained(error, options, 'create')
      lost = error
    }
  }
  throw lost
}

/**
 * Migrates the schema to this program's version and functions: all steps in one transaction, under the lock of the
 * table `store`. Programs of the previous version cannot continue afterwards.
 *
 * Rejects with the errors of `judgeSchema`, with ERR_STORE_FORMAT when there is no store, and with
 * ERR_STORE_UNAVAILABLE on a standby or when the role does not own the tables. Nothing has changed then.
 */
export async function migrateSchema(
  options: SchemaOptions,
): Promise<CheckedSchema & { readonly from: number; readonly changed: boolean }> {
  const { state, verdict } = await look(options)
  switch (verdict.kind) {
    case 'missing':
      throw notThere(options)
    case 'current':
      return { ...usable(verdict, options), from: verdict.store.version, changed: false }
    case 'older':
    case 'otherFunctions':
  }
  assertPrimary(state)
  try {
    return await options.connections.transaction((sql) => migrateIn(sql, options))
  } catch (error) {
    throw explained(error, options, 'migrate')
  }
}

/**
 * Changes nothing. Rejects with the errors of `judgeSchema`, and with ERR_STORE_FORMAT when there is no store, or one
 * of another version.
 */
export async function checkSchema(options: SchemaOptions): Promise<CheckedSchema> {
  const { verdict } = await look(options)
  return usable(verdict, options)
}

/** The state of the schema for the program of `options`. */
export async function look(
  options: SchemaOptions,
): Promise<{ readonly state: SchemaState; readonly verdict: SchemaVerdict }> {
  const { connections, statements, program = STORE_SCHEMA } = options
  const { schema } = statements
  const state = await inspectSchema(connections, statements)
  const functions = functionsMark(program, statements)
  return { state, verdict: judgeSchema(state, { schema, program, functions }) }
}

/** Throws ERR_STORE_FORMAT for every state except a schema of this program. */
export function usable(verdict: SchemaVerdict, { statements }: SchemaOptions): CheckedSchema {
  const { schema } = statements
  switch (verdict.kind) {
    case 'current':
      return { storeId: verdict.store.storeId, version: verdict.store.version }
    case 'missing':
      throw notThere({ statements })
    case 'older':
      throw new StoreFormatError(
        `schema ${schema} has version ${verdict.store.version}, which is older than this program: ` +
          'run `tidemark store migrate` as its owner',
      )
    case 'otherFunctions':
      throw new StoreFormatError(
        `the functions in schema ${schema} are those of another build of this version: ` +
          'run `tidemark store migrate` as its owner to replace them',
      )
  }
}

function notThere({ statements }: Pick<SchemaOptions, 'statements'>): StoreFormatError {
  return new StoreFormatError(
    `there is no store in schema ${statements.schema}: run \`tidemark init\``,
  )
}

/**
 * The first statement is the lock: a second process that creates the same name waits in it until the first has
 * committed, and then fails.
 */
function create(
  options: SchemaOptions & { readonly random: Random },
  { exists }: { readonly exists: boolean },
): Promise<CheckedSchema> {
  const { connections, statements, random, program = STORE_SCHEMA } = options
  const storeId = random.hex(16)
  const version = program.steps.length
  return connections.transaction(async (sql) => {
    if (!exists) await sql.script(statements.fill('CREATE SCHEMA :schema'))
    for (const { ddl } of program.steps) await sql.script(statements.fill(ddl))
    await sql.script(functionsText(program, statements))
    const mark = functionsMark(program, statements)
    await sql.rows(statements.of(INSERT_STORE), [version, storeId, mark])
    return { storeId, version }
  })
}

async function migrateIn(
  sql: SchemaSql,
  { statements, program = STORE_SCHEMA }: SchemaOptions,
): Promise<CheckedSchema & { readonly from: number; readonly changed: boolean }> {
  const [row] = await sql.rows(statements.of(LOCK_STORE))
  if (row === undefined) throw notThere({ statements })
  const { version: from, storeId, functions } = storeRow(row)
  const version = program.steps.length
  const mark = functionsMark(program, statements)
  // Another process was faster, perhaps a newer one.
  if (from > version) {
    throw new StoreFormatError(`schema ${statements.schema} was migrated by a newer Tidemark`)
  }
  if (from === version && functions === mark) return { storeId, version, from, changed: false }
  const present = await sql.rows(statements.of(FUNCTIONS), [statements.schema])
  const ours = new Set(namesInMark(functions))
  for (const row of present) {
    // Objects of other owners here stay.
    if (ours.has(textColumn(row, 0))) await sql.script(`DROP FUNCTION ${textColumn(row, 1)}`)
  }
  for (const { ddl } of program.steps.slice(from)) await sql.script(statements.fill(ddl))
  await sql.script(functionsText(program, statements))
  await sql.rows(statements.of(UPDATE_STORE), [version, mark])
  return { storeId, version, from, changed: true }
}

/** Another process has created it: unique violation in the catalog, or a schema, table or object of that name. */
const TAKEN = new Set(['23505', '42P06', '42P07', '42710', '42723'])

function explained(
  error: unknown,
  { statements }: SchemaOptions,
  verb: 'create' | 'migrate',
): unknown {
  if (sqlState(error) !== '42501') return error
  const command = verb === 'create' ? 'init' : 'store migrate'
  return new StoreUnavailableError(
    `this role cannot ${verb} schema ${statements.schema}: run \`tidemark ${command}\` as ` +
      (verb === 'create' ? 'a role that can create in the database' : 'its owner'),
    { cause: error },
  )
}

const INSERT_STORE = `
INSERT INTO :schema.store(one, tables, store_id, functions, created) VALUES (true, $1, $2, $3, :server_now)`

const LOCK_STORE = 'SELECT tables, store_id, functions FROM :schema.store FOR UPDATE'

const UPDATE_STORE = 'UPDATE :schema.store SET tables = $1, functions = $2'

/**
 * With the types of their parameters, quoted. They are dropped, not replaced, because the result type of a function
 * cannot be replaced.
 */
const FUNCTIONS = `
SELECT p.proname, p.oid::regprocedure::text
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1`
