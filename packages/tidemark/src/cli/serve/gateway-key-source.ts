import { EMULATOR_KEY, type GatewayKeys } from '@tidemark/gateway'
import { InputError } from '../input-error.ts'
import { readPrivateFile } from './private-file.ts'
import { presentKey, storedKey } from './stored-key.ts'
import type { ServedPlace } from './served-place.ts'

/** Environment variables with keys, for use without files. */
export const KEY_VARIABLE = 'TIDEMARK_GATEWAY_KEY'
export const READ_ONLY_KEY_VARIABLE = 'TIDEMARK_GATEWAY_READ_ONLY_KEY'

/** The places of keys. */
export interface KeyRequest {
  readonly keyFile?: string | undefined
  readonly readOnlyKeyFile?: string | undefined
  readonly environment: NodeJS.ProcessEnv
  readonly place: ServedPlace
}

/** Keys, and a text about their origin, which never contains the keys themselves. */
export interface FoundKeys {
  readonly keys: GatewayKeys
  readonly source: string
}

interface ReadWriteKeys {
  readonly keys: readonly string[]
  readonly source: string
}

/**
 * Keys from files and the environment. Read them before a store is created, so that a mistake leaves nothing behind.
 */
export interface GivenKeys {
  /** Or the folder in which a key is kept. */
  readonly readWrite: ReadWriteKeys | { readonly folder: string }
  readonly readOnly: readonly string[]
}

/**
 * The keys of a gateway: from a file, from the environment, else the one in the store's folder. A store in memory,
 * which is for tests, uses the emulator's key, which restricts it to loopback. Rejects with ERR_INPUT when a file
 * cannot be read or there is no place for a key.
 */
export async function givenKeys(request: KeyRequest): Promise<GivenKeys> {
  const { readOnlyKeyFile, environment } = request
  const readWrite = await readWriteKeys(request)
  const readOnly =
    readOnlyKeyFile === undefined
      ? keysOf(environment[READ_ONLY_KEY_VARIABLE] ?? '')
      : await keysInFile('--read-only-key-file', readOnlyKeyFile)
  return { readWrite, readOnly }
}

/** The keys of a gateway whose store is open. Creates the key in its folder if it is missing. */
export async function gatewayKeys({ readWrite, readOnly }: GivenKeys): Promise<FoundKeys> {
  if ('keys' in readWrite) {
    return { keys: { readWrite: readWrite.keys, readOnly }, source: readWrite.source }
  }
  const { key, file } = await storedKey(readWrite.folder)
  return { keys: { readWrite: keysOf(key), readOnly }, source: `the key in ${file}` }
}

/** Whether keys are in files, which can change while a gateway runs. */
export function areKeysInFiles(
  { keyFile, readOnlyKeyFile }: KeyRequest,
  { readWrite }: GivenKeys,
): boolean {
  return keyFile !== undefined || readOnlyKeyFile !== undefined || 'folder' in readWrite
}

/** The present keys, for a gateway that runs. Rejects with ERR_INPUT, also when a file is gone: it creates none. */
export async function presentKeys(request: KeyRequest): Promise<GatewayKeys> {
  const { readWrite, readOnly } = await givenKeys(request)
  if ('keys' in readWrite) return { readWrite: readWrite.keys, readOnly }
  return { readWrite: keysOf(await presentKey(readWrite.folder)), readOnly }
}

async function readWriteKeys({
  keyFile,
  environment,
  place,
}: KeyRequest): Promise<GivenKeys['readWrite']> {
  if (keyFile !== undefined) {
    return { keys: await keysInFile('--key-file', keyFile), source: `the key in ${keyFile}` }
  }
  const given = keysOf(environment[KEY_VARIABLE] ?? '')
  if (given.length > 0) {
    return { keys: given, source: `the key of the environment variable ${KEY_VARIABLE}` }
  }
  if (place.kind === 'memory') {
    return { keys: [EMULATOR_KEY], source: 'the well-known key of the emulator' }
  }
  if (place.kind === 'postgres') {
    throw new InputError(
      `a store on PostgreSQL has no folder for a key: give --key-file or ${KEY_VARIABLE}`,
    )
  }
  return { folder: place.folder }
}

async function keysInFile(option: string, file: string): Promise<readonly string[]> {
  let text: string
  try {
    text = await readPrivateFile(file, { links: 'follow' })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`${option} ${file} cannot be read: ${reason}`, { cause })
  }
  const keys = keysOf(text)
  if (keys.length === 0) throw new InputError(`${option} ${file} holds no key`)
  return keys
}

/** There can be several keys, so that one can be replaced while clients still use it. */
function keysOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((key) => key !== '')
}
