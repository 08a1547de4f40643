import { EMULATOR_KEY } from '@tidemark/contracts/internal'
import type { AccessPolicy } from '@tidemark/messaging/front'
import { InputError } from '../input-error.ts'
import { readAccessPolicies } from './access-policy-file.ts'
import { readPrivateFile } from './private-file.ts'
import { presentKey, storedKey } from './stored-key.ts'
import type { ServedKeys } from './served-keys.ts'
import type { ServedPlace } from './served-place.ts'

/** Environment variables with keys, for use without files. */
export const KEY_VARIABLE = 'TIDEMARK_GATEWAY_KEY'
export const READ_ONLY_KEY_VARIABLE = 'TIDEMARK_GATEWAY_READ_ONLY_KEY'

/** The places of keys. */
export interface KeyRequest {
  readonly keyFile?: string | undefined
  readonly readOnlyKeyFile?: string | undefined
  /** File of further policies for queues. */
  readonly accessPolicies?: string | undefined
  readonly environment: NodeJS.ProcessEnv
  readonly place: ServedPlace
}

/** Keys, and a text about their origin, which never contains the keys themselves. */
export interface FoundKeys {
  readonly keys: ServedKeys
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
  readonly policies: readonly AccessPolicy[]
}

/**
 * The keys of all fronts: from files, from the environment, else the one in the store's folder. A store in memory,
 * which is for tests, uses the emulator's key, which restricts it to loopback. Rejects with ERR_INPUT when a file
 * cannot be read or there is no place for a key.
 */
export async function givenKeys(request: KeyRequest): Promise<GivenKeys> {
  const { readOnlyKeyFile, accessPolicies, environment } = request
  const readWrite = await readWriteKeys(request)
  const readOnly =
    readOnlyKeyFile === undefined
      ? keysOf(environment[READ_ONLY_KEY_VARIABLE] ?? '')
      : await keysInFile('--read-only-key-file', readOnlyKeyFile)
  const policies = accessPolicies === undefined ? [] : await readAccessPolicies(accessPolicies)
  return { readWrite, readOnly, policies }
}

/** The keys of a store that is open. Creates the key in its folder if it is missing. */
export async function servedKeys({ readWrite, ...others }: GivenKeys): Promise<FoundKeys> {
  if ('keys' in readWrite) {
    return { keys: { readWrite: readWrite.keys, ...others }, source: readWrite.source }
  }
  const { key, file } = await storedKey(readWrite.folder)
  return { keys: { readWrite: keysOf(key), ...others }, source: `the key in ${file}` }
}

/** Whether keys are in files, which can change while the fronts run. */
export function areKeysInFiles(
  { keyFile, readOnlyKeyFile, accessPolicies }: KeyRequest,
  { readWrite }: GivenKeys,
): boolean {
  const files = [keyFile, readOnlyKeyFile, accessPolicies]
  return 'folder' in readWrite || files.some((file) => file !== undefined)
}

/** The present keys, for fronts that run. Rejects with ERR_INPUT, also when a file is gone: it creates none. */
export async function presentKeys(request: KeyRequest): Promise<ServedKeys> {
  const { readWrite, ...others } = await givenKeys(request)
  if ('keys' in readWrite) return { readWrite: readWrite.keys, ...others }
  return { readWrite: keysOf(await presentKey(readWrite.folder)), ...others }
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
