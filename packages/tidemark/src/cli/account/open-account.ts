import type { Command } from 'commander'
import type { CosmosContainer } from '@tidemark/cosmos'
import { loadCosmos, type CosmosPackages } from '../../platform/optional-packages.ts'
import type { CollectionName } from '../arguments/parse-arguments.ts'
import { InputError } from '../input-error.ts'
import { readPrivateFile } from '../serve/private-file.ts'

/** The environment variable with a key of an account, for use without a file. */
const KEY_VARIABLE = 'TIDEMARK_ACCOUNT_KEY'

/** An account of Azure Cosmos DB, or a server with its protocol. */
export interface AccountOptions {
  readonly endpoint: string
  readonly keyFile?: string
}

/** A connected account. */
export interface Account extends Disposable {
  readonly cosmos: CosmosPackages['cosmos']
  readonly container: (name: CollectionName) => CosmosContainer
}

/** Adds `--endpoint` and `--key-file`. */
export function withAccountOptions(command: Command): Command {
  return command
    .requiredOption('--endpoint <url>', 'account of Azure Cosmos DB, as its URL')
    .option(
      '--key-file <file>',
      `file with a key of the account (default: the variable ${KEY_VARIABLE})`,
    )
}

/**
 * Connects by the official client, which is loaded only now. The account is not asked for anything yet.
 *
 * Rejects with ERR_MISSING_PACKAGE, with ERR_INPUT when the endpoint is no URL, or there is no key.
 */
export async function openAccount({ endpoint, keyFile }: AccountOptions): Promise<Account> {
  const { cosmos, client: module } = await loadCosmos()
  if (!URL.canParse(endpoint)) {
    throw new InputError(
      `--endpoint must be the URL of an account, got ${JSON.stringify(endpoint)}`,
    )
  }
  const client = new module.CosmosClient({ endpoint, key: await accountKey(keyFile) })
  return {
    cosmos,
    container: ({ database, collection }: CollectionName) =>
      client.database(database).container(collection),
    [Symbol.dispose]: () => {
      client.dispose()
    },
  }
}

async function accountKey(keyFile: string | undefined): Promise<string> {
  if (keyFile === undefined) {
    const key = process.env[KEY_VARIABLE]?.trim()
    if (key) return key
    throw new InputError(`there is no key of the account: give --key-file, or set ${KEY_VARIABLE}`)
  }
  let key: string
  try {
    key = (await readPrivateFile(keyFile, { links: 'follow' })).trim()
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`--key-file ${keyFile} cannot be read: ${reason}`, { cause })
  }
  if (key !== '') return key
  throw new InputError(`--key-file ${keyFile} holds no key`)
}
