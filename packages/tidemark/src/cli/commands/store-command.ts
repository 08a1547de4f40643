import { Command } from 'commander'
import type { PostgresStoreSchema } from '@tidemark/engine-postgres'
import type { CopiedStore } from '@tidemark/engine-sqlite/internal'
import type { Store } from '@tidemark/store'
import { loadPostgresEngine } from '../../platform/optional-packages.ts'
import { postgresLocation, refuseOtherUrl } from '../../postgres-location.ts'
import {
  givenStore,
  storeArgument,
  storeOfEnvironment,
  STORE_VARIABLE,
} from '../arguments/store-argument.ts'
import type { CommandContext } from '../command-context.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Finish } from '../finish.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import {
  PASSWORD_HELP,
  schemaLocation,
  schemaText,
  type SchemaOptions,
} from '../postgres-schema.ts'

interface CheckOptions extends SchemaOptions {
  readonly deep?: boolean
}

interface OutcomeOptions {
  readonly json?: boolean
}

/** Adding a column may have to wait for all documents, or process them. */
const MIGRATION_LIMIT_MS = 24 * 3_600_000

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

/** `tidemark store`: migrates, checks, backs up and restores stores. */
export function storeCommand(context: CommandContext, finish: Finish): Command {
  return new Command('store')
    .summary('migrate, check, back up and restore a store')
    .description(
      'Migrates a store on PostgreSQL, backs up and restores one in a folder, checks both.',
    )
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
    .usage('[options] [store] <dir>')
    .argument('<store>', `the folder of the store (env: ${STORE_VARIABLE})`)
    .argument('[dir]', 'a missing or empty folder for the backup')
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', BACKUP_HELP)
    .action(
      (first: string, second: string | undefined, options: OutcomeOptions, action: Command) => {
        const store = second === undefined ? storeOfEnvironment() : first
        if (store === undefined) {
          action.error(
            `error: missing required argument 'dir'; give both, or set ${STORE_VARIABLE} to the store\n`,
          )
        }
        const [from, to] = [folderOf(store, action), folderOf(second ?? first, action)]
        return copyStore({ from, to, verb: 'backed up' }, options, context)
      },
    )
}

function restoreCommand(context: CommandContext): Command {
  return new Command('restore')
    .summary('create a store in a folder from a backup')
    .description('Creates a store in a folder from a backup.')
    .argument('<dir>', 'the backup')
    .addArgument(storeArgument('a missing or empty folder for the store'))
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', RESTORE_HELP)
    .action(
      (dir: string, argument: string | undefined, options: OutcomeOptions, action: Command) => {
        const [from, to] = [folderOf(dir, action), folderOf(givenStore(argument, action), action)]
        return copyStore({ from, to, verb: 'restored' }, options, context)
      },
    )
}

function markRestoredCommand(context: CommandContext): Command {
  return new Command('mark-restored')
    .summary('mark a store as restored by other means')
    .description('Marks a store in a folder as restored by other means.')
    .addArgument(storeArgument('the folder of the store'))
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', MARK_HELP)
    .action(async (argument: string | undefined, { json }: OutcomeOptions, action: Command) => {
      const folder = folderOf(givenStore(argument, action), action)
      const { markSqliteStoreRestored } = await import('@tidemark/engine-sqlite/internal')
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
  const { copySqliteStore } = await import('@tidemark/engine-sqlite/internal')
  const copied = await copySqliteStore({ from, to })
  if (json === true) await writeJsonLine(context.output, { ...copied })
  else await writeText(context.output, `${verb} ${copyText(copied)}\n`)
}

function copyText({ storeId, databases }: CopiedStore): string {
  const names = databases.length === 0 ? 'no databases' : `databases ${databases.join(', ')}`
  return `store ${storeId}: ${names}`
}

function migrateCommand(context: CommandContext): Command {
  return new Command('migrate')
    .summary("update a store to this version's tables and functions")
    .description("Updates a store to this version's tables and functions.")
    .addArgument(storeArgument('postgres://user@host/database'))
    .option('--schema <name>', 'schema of the store (default: tidemark)')
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', MIGRATE_HELP)
    .action(async (argument: string | undefined, options: SchemaOptions, action: Command) => {
      const url = givenStore(argument, action)
      if (postgresLocation(url) === undefined) {
        action.error(
          'error: it must look like postgres://user@host/database; a folder needs none\n',
        )
      }
      const { migratePostgresStore } = await loadPostgresEngine()
      const migrated = await migratePostgresStore({
        ...schemaLocation(url, options),
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
    .addArgument(storeArgument('postgres://user@host/database or a folder'))
    .option('--schema <name>', 'schema of the store (default: tidemark)')
    .option('--deep', 'read everything and look for contradictions')
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', CHECK_HELP)
    .action(async (argument: string | undefined, options: CheckOptions, action: Command) => {
      finish(await check(givenStore(argument, action), options, context))
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
    if (schema !== undefined) await writeText(context.output, `${schemaText(schema)}\n`)
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
  const { isStoreOpenToEverybody } = await import('@tidemark/engine-sqlite/internal')
  if (!(await isStoreOpenToEverybody(folder))) return
  context.errors.write(
    `tidemark: warning: every user of this machine can read the files in ${folder}; chmod -R o= ${folder} keeps them out\n`,
  )
}

async function checkedSchema(where: string, options: CheckOptions): Promise<PostgresStoreSchema> {
  const { checkPostgresStore } = await loadPostgresEngine()
  return checkPostgresStore(schemaLocation(where, options))
}

/** Undefined without --deep; of a folder, each database is then opened. */
async function contradictions(
  where: string,
  options: CheckOptions,
): Promise<readonly string[] | undefined> {
  if (options.deep !== true && postgresLocation(where) !== undefined) return undefined
  await using store = await openToCheck(where, options)
  if (options.deep === true) return await store.check()
  // Opening a store opens none of them: their files may be missing, or cut off.
  for (const { id } of await store.listDatabases()) await store.database(id).listCollections()
  return undefined
}

function openToCheck(where: string, options: CheckOptions): Promise<Store> {
  if (options.schema === undefined || postgresLocation(where) === undefined) {
    return openExistingStore(where, { maintenance: 'manual' })
  }
  const url = new URL(where)
  url.searchParams.set('schema', options.schema)
  return openExistingStore(url.href, { maintenance: 'manual' })
}

function migrationText(
  migrated: PostgresStoreSchema & { readonly from: number; readonly changed: boolean },
): string {
  const { from, version, schema, changed } = migrated
  if (!changed) return `nothing to do: schema ${schema} has version ${version}`
  if (from === version) return `updated the functions in schema ${schema} to this build`
  return `migrated schema ${schema} from version ${from} to ${version}`
}

/** For what works on files only. */
function folderOf(text: string, action: Command): string {
  if (postgresLocation(text) === undefined) {
    refuseOtherUrl(text)
    return text
  }
  return action.error(
    'error: it must be a folder; back up a store on PostgreSQL with pg_dump: see docs/guide/backup.md\n',
  )
}
