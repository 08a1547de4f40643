import { Command } from 'commander'
import { errorCode } from '@tidemark/contracts'
import { loadPostgresEngine } from '../../platform/optional-packages.ts'
import { postgresLocation } from '../../postgres-location.ts'
import { openStore } from '../../open-store.ts'
import { givenStore, storeArgument, STORE_VARIABLE } from '../arguments/store-argument.ts'
import type { CommandContext } from '../command-context.ts'
import { openExistingStore } from '../open-existing-store.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import {
  PASSWORD_HELP,
  schemaLocation,
  schemaText,
  type SchemaOptions,
} from '../postgres-schema.ts'

interface InitOptions extends SchemaOptions {
  readonly grantTo?: string
}

/** What there is now. */
interface Made {
  readonly created: boolean
  readonly storeId: string
  /** For people. */
  readonly text: string
}

const HELP = `
A folder must be missing or empty. A store that exists stays as it is.

On PostgreSQL it creates a schema in the database. A schema that exists must be
empty. The role needs CREATE on the database, or must own an empty schema; it
owns the tables afterwards. --grant-to allows another role to use the store, but
not to change its tables: programs should connect as that role.
${PASSWORD_HELP}

Examples:
  tidemark init ./data
  tidemark init postgres://owner@db.example.org/shop --grant-to worker
  tidemark init postgres://localhost/shop --schema tidemark_test`

/** `tidemark init`: makes a store. */
export function initCommand(context: CommandContext): Command {
  return new Command('init')
    .summary('create a store if it does not exist')
    .description('Creates a store in a folder, or on PostgreSQL, if it does not exist.')
    .addArgument(storeArgument())
    .option('--schema <name>', 'on PostgreSQL: schema of the store (default: tidemark)')
    .option('--grant-to <role>', 'on PostgreSQL: role that can use the store from now on')
    .option('--json', 'print the result as one JSON line')
    .addHelpText('after', HELP)
    .action(async (argument: string | undefined, options: InitOptions, action: Command) => {
      const where = givenStore(argument, action)
      const isFolder = postgresLocation(where) === undefined
      if (isFolder && (options.schema ?? options.grantTo) !== undefined) {
        action.error('error: --schema and --grant-to are for a store on PostgreSQL\n')
      }
      if (where === ':memory:') action.error('error: a store in memory ends with its process\n')
      const { text, ...made } = await (isFolder ? initFolder(where) : initSchema(where, options))
      if (options.json === true) return void (await writeJsonLine(context.output, made))
      const told = made.created
        ? `made ${text}\n${nextSteps(argument)}`
        : `there is already ${text}\n`
      await writeText(context.output, told)
    })
}

async function initFolder(folder: string): Promise<Made> {
  const text = `a store in ${folder}`
  try {
    await using present = await openExistingStore(folder, { maintenance: 'manual' })
    return { created: false, storeId: present.id, text }
  } catch (error) {
    // Missing or empty; what else is in the way is told by what follows.
    if (errorCode(error) !== 'ERR_INPUT') throw error
  }
  await using store = await openStore({ folder, maintenance: 'manual' })
  return { created: true, storeId: store.id, text }
}

async function initSchema(url: string, { grantTo, ...options }: InitOptions): Promise<Made> {
  const { initPostgresStore } = await loadPostgresEngine()
  const made = await initPostgresStore(schemaLocation(url, options), { grantTo })
  const granted = grantTo === undefined ? '' : `\nrole ${grantTo} can use it`
  return {
    ...made,
    text: `${schemaText(made)}${granted}`,
    ...(granted !== '' && { grantedTo: grantTo }),
  }
}

/** Without the store itself: a URL may have a password in it. */
function nextSteps(argument: string | undefined): string {
  const named = argument === undefined ? '' : `set ${STORE_VARIABLE} to it, or give it as --store; `
  return `next: ${named}tidemark create shop/orders --partition-key /customerId\n`
}
