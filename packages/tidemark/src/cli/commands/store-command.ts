import { Command, InvalidArgumentError } from 'commander'
import type { PostgresStoreSchema } from '@tidemark/engine-postgres'
import type { CopiedStore } from '@tidemark/engine-sqlite'
import type { Store } from '@tidemark/store'
import { postgresLocation, refuseOtherUrl } from '../../postgres-location.ts'
import type { CommandContext } from '../command-context.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'

interface SchemaOptions {
  readonly schema?: string
  readonly json?: boolean
}
interface InitOptions extends SchemaOptions {
  readonly grantTo?: string
}
interface CheckOptions extends SchemaOptions {
  readonly deep?: boolean
}

interface OutcomeOptions {
  readonly json?: boolean
}

/** Adding a column may have to wait for all documents, or process them. */
const MIGRATION_LIMIT_MS = 24 * 3_600_000

const PASSWORD_HELP = `
You can leave the password out of the URL: PGPASSWORD and ~/.pgpass are used.
Instead of --schema, the URL can end in ?schema=name, as for --store of the
other commands.`

const INIT_HELP = `
Creates a schema in the database. A schema that exists must be empty. The role
needs CREATE on the database, or must own an empty schema; it owns the tables
afterwards. An existing store stays as it is. --grant-to allows another role to
use the store, but not to change its tables: programs should connect as that
role.
${PASSWORD_HELP}

Examples:
  tidemark store init postgres://owner@db.example.org/shop --grant-to worker
  tidemark store init postgres://localhost/shop --schema tidemark_test`

const MIGRATE_HELP = `
Everything happens in one transaction, or not at all. First end the programs of
the previous version: they cannot continue afterwards.
${PASSWORD_HELP}

Examples:
  tidemark store migrate postgres://owner@db.example.org/shop`

const CHECK_HELP = `
Checks that this version can use the store and that no table, index or function
is missing. --deep also reads all documents and looks for contradictions between
them, their indexes, ranges and counters. It lists them, one on each line, with
exit code 3.
${PASSWORD_HELP}

Examples:
  tidemark store check postgres://worker@db.example.org/shop
  tidemark store check ./data --deep`

const BACKUP_HELP = `
Programs can keep running. Each database is copied as of one moment. The backup
is itself a store: "tidemark store check DIR --deep" checks it. Leases in Redis
are not part of it. For a store on PostgreSQL, use its own tools: see the guide.

Examples:
  tidemark store backup ./data /backup/data-2026-11-22`

const RESTORE_HELP = `
The folder must be missing or empty: first end the programs, and move the old
store away. The ranges then continue above every LSN that the old store can have
used, so that readers that are ahead of the backup miss nothing that is written
from now on.

Examples:
  tidemark store restore /backup/data-2026-11-22 ./data`

const MARK_HELP = `
For stores that you restored in another way: from a snapshot of the volume or of
the machine, or by copying files over the old ones. First end the programs. A
folder that was copied as a whole is detected without this command.

Examples:
  tidemark store mark-restored ./data`

/** `tidemark store`: creates, migrates, checks, backs up and restores stores. */
export function storeCommand(context: CommandContext, finish: Finish): Command {
  return new Command('store')
    .summary('create, migrate, check, back up and restore a store')
    .description(
      'Creates and migrates a store on PostgreSQL, backs up and restores one in a folder, checks both.',
    )
    .addCommand(initCommand(context))
    .addCommand(migrateCommand(context))
    .addCommand(checkCommand(context, finish))
    .addCommand(backupCommand(context))
    .addCommand(restoreCommand(context))
    .addCommand(markRestoredCommand(context))
}

function backupCommand(context: CommandContext): Command {
  return new Command('backup')
    .summary('copy a store in a folder while programs use it')
    .description('Copies a store in a folder, while programs use it.')
    .argument('<store>', 'the folder of the store', folderOfStore)
    .argument('<dir>', 'a missing or empty folder for the backup', folderOfStore)
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', BACKUP_HELP)
    .action((from: string, to: string, options: OutcomeOptions) =>
      copyStore({ from, to, verb: 'backed up' }, options, context),
    )
}

function restoreCommand(context: CommandContext): Command {
  return new Command('restore')
    .summary('create a store in a folder from a backup')
    .description('Creates a store in a folder from a backup.')
    .argument('<dir>', 'the backup', folderOfStore)
    .argument('<store>', 'a missing or empty folder for the store', folderOfStore)
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', RESTORE_HELP)
    .action((from: string, to: string, options: OutcomeOptions) =>
      copyStore({ from, to, verb: 'restored' }, options, context),
    )
}

function markRestoredCommand(context: CommandContext): Command {
  return new Command('mark-restored')
    .summary('mark a store as restored by other means')
    .description('Marks a store in a folder as restored by other means.')
    .argument('<store>', 'the folder of the store', folderOfStore)
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', MARK_HELP)
    .action(async (folder: string, { json }: OutcomeOptions) => {
      const { markSqliteStoreRestored } = await import('@tidemark/engine-sqlite')
      const marked = await markSqliteStoreRestored(folder)
      if (json === true) await writeJsonLine(context.output, { ...marked })
      else await writeText(context.output, `marked ${copyText(marked)}\n`)
    })
}

async function copyStore(
  { from, to, verb }: { readonly from: string; readonly to: string; readonly verb: string },
  { json }: OutcomeOptions,
  context: CommandContext,
): Promise<void> {
  const { copySqliteStore } = await import('@tidemark/engine-sqlite')
  const copied = await copySqliteStore({ from, to })
  if (json === true) await writeJsonLine(context.output, { ...copied })
  else await writeText(context.output, `${verb} ${copyText(copied)}\n`)
}

function copyText({ storeId, databases }: CopiedStore): string {
  const names = databases.length === 0 ? 'no databases' : `databases ${databases.join(', ')}`
  return `store ${storeId}: ${names}`
}

function initCommand(context: CommandContext): Command {
  return new Command('init')
    .summary('create a store if it does not exist')
    .description('Creates a store if it does not exist.')
    .argument('<url>', 'postgres://user@host/database', postgresUrl)
    .option('--schema <name>', 'schema of the store (default: tidemark)')
    .option('--grant-to <role>', 'role that can use the store from now on')
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', INIT_HELP)
    .action(async (url: string, { grantTo, ...options }: InitOptions) => {
      const { initPostgresStore } = await import('@tidemark/engine-postgres')
      const made = await initPostgresStore(location(url, options), { grantTo })
      if (options.json === true) {
        await writeJsonLine(context.output, { ...made, grantedTo: grantTo })
        return
      }
      const verb = made.created ? 'made' : 'there is already'
      await writeText(context.output, `${verb} ${storeText(made)}\n`)
      if (grantTo !== undefined) await writeText(context.output, `role ${grantTo} can use it\n`)
    })
}

function migrateCommand(context: CommandContext): Command {
  return new Command('migrate')
    .summary("update a store to this version's tables and functions")
    .description("Updates a store to this version's tables and functions.")
    .argument('<url>', 'postgres://user@host/database', postgresUrl)
    .option('--schema <name>', 'schema of the store (default: tidemark)')
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', MIGRATE_HELP)
    .action(async (url: string, options: SchemaOptions) => {
      const { migratePostgresStore } = await import('@tidemark/engine-postgres')
      const migrated = await migratePostgresStore({
        ...location(url, options),
        statementTimeoutMs: MIGRATION_LIMIT_MS,
      })
      if (options.json === true) await writeJsonLine(context.output, migrated)
      else await writeText(context.output, `${migrationText(migrated)}\n`)
    })
}

function checkCommand(context: CommandContext, finish: Finish): Command {
  return new Command('check')
    .summary('check that a store is complete')
    .description('Checks that a store, in PostgreSQL or in a folder, is complete.')
    .argument('<store>', 'postgres://user@host/database or a folder')
    .option('--schema <name>', 'schema of the store (default: tidemark)')
    .option('--deep', 'read everything and look for contradictions')
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', CHECK_HELP)
    .action(async (where: string, options: CheckOptions) => {
      finish(await check(where, options, context))
    })
}

async function check(
  where: string,
  options: CheckOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const schema =
    postgresLocation(where) === undefined ? undefined : await checkedSchema(where, options)
  const problems = await contradictions(where, options)
  if (schema === undefined) await warnOfAccess(where, context)
  if (options.json === true) {
    await writeJsonLine(context.output, { ...schema, problems })
  } else {
    if (schema !== undefined) await writeText(context.output, `${storeText(schema)}\n`)
    else if (problems === undefined) {
      await writeText(
        context.output,
        `the store in ${where} opens; --deep also reads its documents\n`,
      )
    }
    if (problems !== undefined) {
      const none = problems.length === 0 ? ['no contradictions'] : problems
      await writeText(context.output, none.map((line) => `${line}\n`).join(''))
    }
  }
  return problems === undefined || problems.length === 0 ? EXIT.ok : EXIT.differences
}

/** For a folder. Only a warning, because the access may be intended. */
async function warnOfAccess(folder: string, context: CommandContext): Promise<void> {
  const { isStoreOpenToEverybody } = await import('@tidemark/engine-sqlite')
  if (!(await isStoreOpenToEverybody(folder))) return
  context.errors.write(
    `tidemark: warning: every user of this machine can read the files in ${folder}; chmod -R o= ${folder} keeps them out\n`,
  )
}

async function checkedSchema(where: string, options: CheckOptions): Promise<PostgresStoreSchema> {
  const { checkPostgresStore } = await import('@tidemark/engine-postgres')
  return checkPostgresStore(location(where, options))
}

/** Undefined without --deep; a folder is then only opened. */
async function contradictions(
  where: string,
  options: CheckOptions,
): Promise<readonly string[] | undefined> {
  if (options.deep !== true && postgresLocation(where) !== undefined) return undefined
  await using store = await openToCheck(where, options)
  return options.deep === true ? await store.check() : undefined
}

function openToCheck(where: string, options: CheckOptions): Promise<Store> {
  if (options.schema === undefined || postgresLocation(where) === undefined) {
    return openExistingStore(where, { maintenance: 'manual' })
  }
  const url = new URL(where)
  url.searchParams.set('schema', options.schema)
  return openExistingStore(url.href, { maintenance: 'manual' })
}

/** `--schema` takes precedence over the URL. */
function location(
  where: string,
  options: SchemaOptions,
): { readonly url: string; readonly schema: string | undefined } {
  const { url, schema } = postgresLocation(where) ?? { url: where }
  return { url, schema: options.schema ?? schema }
}

function storeText({ schema, version, storeId, serverVersion }: PostgresStoreSchema): string {
  const server = `${Math.floor(serverVersion / 10_000)}.${serverVersion % 10_000}`
  return `a store in schema ${schema}, version ${version}, id ${storeId}, on PostgreSQL ${server}`
}

function migrationText(
  migrated: PostgresStoreSchema & { readonly from: number; readonly changed: boolean },
): string {
  const { from, version, schema, changed } = migrated
  if (!changed) return `nothing to do: schema ${schema} has version ${version}`
  if (from === version) return `updated the functions in schema ${schema} to this build`
  return `migrated schema ${schema} from version ${from} to ${version}`
}

/** Checks a folder for commander. */
function folderOfStore(text: string): string {
  if (postgresLocation(text) === undefined) {
    refuseOtherUrl(text)
    return text
  }
  throw new InvalidArgumentError(
    'It must be a folder. Back up a store on PostgreSQL with pg_dump: see docs/guide/backup.md.',
  )
}

/** Checks a URL for commander. */
function postgresUrl(text: string): string {
  if (/^postgres(?:ql)?:\/\//i.test(text)) return text
  throw new InvalidArgumentError(
    'It must look like postgres://user@host/database; a store in a folder is created on first use.',
  )
}
