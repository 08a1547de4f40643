import { readdir } from 'node:fs/promises'
import { errorCode, InvalidOptionError, type Logger } from '@tidemark/contracts'
import { openMessaging, type MessageBroker, type MessagingOptions } from '@tidemark/messaging'
import type { Database, Store } from '@tidemark/store'
import { openStore } from '../../open-store.ts'
import { InputError } from '../input-error.ts'
import { readJsonFile } from '../read-json-file.ts'
import type { ServedPlace } from './served-place.ts'

/** A `Config.json` of the emulator, read and not yet checked. */
export interface QueueConfig {
  readonly file: string
  readonly value: unknown
}

const DEFAULT_NAMESPACE = 'messages'

/** Undefined without a file. Rejects with ERR_INPUT. */
export async function readQueueConfig(file: string | undefined): Promise<QueueConfig | undefined> {
  return file === undefined ? undefined : { file, value: await readJsonFile(file) }
}

/** Name of the database with the queues: the one that was asked for, else that of the configuration's namespace. */
export function namespaceName(asked: string | undefined, config: QueueConfig | undefined): string {
  return asked ?? nameIn(config?.value) ?? DEFAULT_NAMESPACE
}

/**
 * Refuses what no new namespace could be made of, so that a mistake leaves no folder behind. A place that may have queues already
 * is not asked: the configuration can refer to them. Rejects with ERR_INPUT.
 */
export async function checkForNewPlace(config: QueueConfig, place: ServedPlace): Promise<void> {
  if (place.kind === 'folder' && (await isNewFolder(place.folder))) await tryOut(config)
}

/** Opens the queues of a database, which is created if it is missing, with what the configuration adds. Rejects with ERR_INPUT. */
export async function openNamespace(
  store: Store,
  name: string,
  { config, logger }: { readonly config?: QueueConfig | undefined; readonly logger: Logger },
): Promise<MessageBroker> {
  const present = await store.listDatabases()
  if (config !== undefined && !present.some(({ id }) => id === name)) await tryOut(config)
  return openConfigured(await store.createDatabaseIfNotExists(name), config, {
    onStuckDeadLetters: ({ entityPath, destination, count }) =>
      logger.warn(
        { event: 'deadLettersStuck', entity: entityPath, destination, count },
        `${count} dead letters of '${entityPath}' cannot be forwarded to '${destination}': each was forwarded too often, is too large or has no session`,
      ),
  })
}

async function openConfigured(
  database: Database,
  config: QueueConfig | undefined,
  options: MessagingOptions = {},
): Promise<MessageBroker> {
  const broker = openMessaging(database, options)
  try {
    if (config !== undefined) await broker.applyConfig(config.value)
    // From here on it knows the entities, and keeps those that always expire.
    await broker.listQueues()
    return broker
  } catch (error) {
    await broker.close()
    if (config === undefined || !(error instanceof InvalidOptionError)) throw error
    throw new InputError(`${config.file}: ${error.message}`, { cause: error })
  }
}

/** In memory. */
async function tryOut(config: QueueConfig): Promise<void> {
  await using store = await openStore(':memory:')
  await using _broker = await openConfigured(
    await store.createDatabaseIfNotExists(DEFAULT_NAMESPACE),
    config,
  )
}

async function isNewFolder(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0
  } catch (error) {
    return errorCode(error) === 'ENOENT'
  }
}

/** `UserConfig.Namespaces[0].Name`, if it is a text that is not empty. */
function nameIn(config: unknown): string | undefined {
  const namespaces = field(field(config, 'UserConfig'), 'Namespaces')
  const name: unknown = Array.isArray(namespaces) ? field(namespaces[0], 'Name') : undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
