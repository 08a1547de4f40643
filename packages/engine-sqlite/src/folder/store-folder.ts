import { constants, existsSync } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  InvalidOptionError,
  StoreDamagedError,
  StoreFormatError,
  StoreInUseError,
  StoreUnavailableError,
  type Random,
} from '@tidemark/contracts'
import {
  errnoOf,
  isTemporary,
  linkIntoPlace,
  syncFolder,
  temporaryFile,
} from './link-into-place.ts'
import { accessOfMode, FILE_MODE, makeFolderFor, type StoreAccess } from '../store-access.ts'

/** What makes a folder a store. */
export interface StoreMarker {
  readonly format: number
  readonly engine: string
  readonly storeId: string
  /** Epoch ms. */
  readonly createdAt: number
}

export interface FoundMarker {
  readonly marker: StoreMarker
  /** The access of the marker's file, and so of the store. New files get the same. */
  readonly access: StoreAccess
}

/** The newest layout that this version reads and writes. */
export const FORMAT = 1
const ENGINE = 'sqlite'
const MARKER_FILE = 'tidemark.json'
const MAX_MARKER_BYTES = 65_536

/**
 * Makes sure that a folder is a store of this engine: an existing one, or a new one in a missing or empty folder. Safe
 * for several processes at once, because only one of them can create the link.
 *
 * @param options.access for a new store; an existing one keeps its own
 * @throws ERR_INVALID_OPTION (a path that is not a folder), ERR_STORE_IN_USE, ERR_STORE_FORMAT, ERR_STORE_DAMAGED,
 * ERR_STORE_UNAVAILABLE
 */
export async function openStoreFolder(
  folder: string,
  {
    access,
    random,
    nowMs,
  }: { readonly access: StoreAccess; readonly random: Random; readonly nowMs: number },
): Promise<FoundMarker> {
  try {
    const present = await readMarker(folder)
    if (present !== undefined) return present
    await makeFolder(folder, access)
    await assertEmpty(folder)
    await assertSharable(folder, access)
    await createMarker(
      folder,
      {
        format: FORMAT,
        engine: ENGINE,
        storeId: random.hex(16),
        createdAt: nowMs,
      },
      { access, random },
    )
  } catch (error) {
    throw folderError(error, folder)
  }
  const created = await readMarker(folder)
  if (created === undefined)
    throw new StoreUnavailableError(`${folder} was removed while it was opened`)
  return created
}

/**
 * Creates the folders one by one from the top. Each is durable in its parent before anything is in it. The first that
 * exists may be new from another process that has not synced it yet, so it is synced as well.
 */
async function makeFolder(folder: string, access: StoreAccess): Promise<void> {
  const parent = dirname(folder)
  if (parent === folder) return
  if (!existsSync(folder)) {
    await makeFolder(parent, access)
    try {
      await makeFolderFor(access, folder)
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error
    }
  }
  syncFolder(parent)
}

/** Undefined where there is no store. @throws as `openStoreFolder` */
export async function readMarker(folder: string): Promise<FoundMarker | undefined> {
  const file = join(folder, MARKER_FILE)
  const found = await readPlainFile(file)
  if (found === undefined) return undefined
  const marker = parseMarker(found.text)
  if (marker === undefined)
    throw new StoreDamagedError(`${file} is damaged: it is not the marker of a store`)
  if (marker.engine !== ENGINE) {
    throw new StoreInUseError(`${folder} is a store of engine ${JSON.stringify(marker.engine)}`)
  }
  if (marker.format > FORMAT) {
    throw new StoreFormatError(
      `${folder} has format ${marker.format}; this version reads up to ${FORMAT}. Use a newer Tidemark`,
    )
  }
  return { marker, access: accessOfMode(found.mode) }
}

/**
 * Undefined when there is none. The creator of the folder must not be able to redirect this to other files, or to make
 * it block.
 */
async function readPlainFile(
  file: string,
): Promise<{ readonly text: string; readonly mode: number } | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  try {
    const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const about = await handle.stat()
      if (about.isFile() && about.size <= MAX_MARKER_BYTES) {
        return { text: await handle.readFile('utf8'), mode: about.mode }
      }
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    if (errnoOf(error) !== 'ELOOP') throw folderError(error, dirname(file))
  }
  throw new StoreDamagedError(`${file} is damaged: it is not the marker of a store`)
}

function parseMarker(text: string): StoreMarker | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    if (!('format' in value && 'engine' in value && 'storeId' in value && 'createdAt' in value)) {
      return undefined
    }
    const { format, engine, storeId, createdAt } = value
    if (typeof format !== 'number' || typeof engine !== 'string') return undefined
    if (typeof storeId !== 'string' || typeof createdAt !== 'number') return undefined
    return { format, engine, storeId, createdAt }
  } catch {
    return undefined
  }
}

async function assertEmpty(folder: string): Promise<void> {
  const [first] = (await readdir(folder)).filter((name) => !isTemporary(name))
  if (first === undefined) return
  // Another process may be turning it into a store right now: its marker comes before everything else.
  if ((await readMarker(folder)) !== undefined) return
  throw new StoreInUseError(
    `${folder} is not a Tidemark store, and is not empty: it contains ${first}`,
  )
}

/** A folder that exists keeps its rights, which must allow the requested access. @throws ERR_INVALID_OPTION */
async function assertSharable(folder: string, access: StoreAccess): Promise<void> {
  if (access === 'owner' || accessOfMode((await stat(folder)).mode) === 'group') return
  throw new InvalidOptionError(
    `access 'group' needs a folder that its group can write to: chmod g+rwxs ${folder}`,
  )
}

/** Prepares a missing or empty folder, so that `createMarker` can make it a store. @throws as `openStoreFolder` */
export async function makeEmptyFolder(folder: string, access: StoreAccess): Promise<void> {
  try {
    await makeFolder(folder, access)
    await assertEmpty(folder)
    if ((await readMarker(folder)) !== undefined) {
      throw new StoreInUseError(`${folder} is a store already: give a missing or empty folder`)
    }
  } catch (error) {
    throw folderError(error, folder)
  }
}

export async function createMarker(
  folder: string,
  marker: StoreMarker,
  { access, random }: { readonly access: StoreAccess; readonly random: Random },
): Promise<void> {
  const temporary = temporaryFile(folder, random)
  const handle = await open(temporary, 'wx', FILE_MODE[access])
  try {
    // The umask may have removed the group's rights.
    if (access === 'group') await handle.chmod(FILE_MODE[access])
    await handle.writeFile(`${JSON.stringify(marker)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await linkIntoPlace(temporary, join(folder, MARKER_FILE))
}

function folderError(error: unknown, folder: string): unknown {
  switch (errnoOf(error)) {
    case undefined:
      return error
    case 'ENOTDIR':
    case 'EEXIST':
      return new InvalidOptionError(
        `${folder} is a file, or goes through one: a store needs a folder`,
        {
          cause: error,
        },
      )
    default: {
      const reason = error instanceof Error ? error.message : String(error)
      return new StoreUnavailableError(`${folder} cannot be used: ${reason}`, { cause: error })
    }
  }
}
