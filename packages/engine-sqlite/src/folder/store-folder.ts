import { existsSync } from 'node:fs'
import { mkdir, open, readFile, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
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

/** What makes a folder a store. */
export interface StoreMarker {
  readonly format: number
  readonly engine: string
  readonly storeId: string
  /** Epoch ms. */
  readonly createdAt: number
}

/** The newest layout that this version reads and writes. */
export const FORMAT = 1
const ENGINE = 'sqlite'
const MARKER_FILE = 'tidemark.json'

/**
 * Makes sure that a folder is a store of ours: an existing one, or a new one in a missing or empty
 * folder. Safe when several processes do it at once: a link is made by one of them only.
 *
 * @throws ERR_STORE_IN_USE, ERR_STORE_FORMAT, ERR_STORE_DAMAGED, ERR_STORE_UNAVAILABLE
 */
export async function openStoreFolder(
  folder: string,
  { random, nowMs }: { readonly random: Random; readonly nowMs: number },
): Promise<StoreMarker> {
  try {
    const present = await readMarker(folder)
    if (present !== undefined) return present
    await makeFolder(folder)
    await assertEmpty(folder)
    await createMarker(
      folder,
      {
        format: FORMAT,
        engine: ENGINE,
        storeId: random.hex(16),
        createdAt: nowMs,
      },
      random,
    )
  } catch (error) {
    throw folderError(error, folder)
  }
  const created = await readMarker(folder)
  if (created === undefined)
    throw new StoreUnavailableError(`${folder} vanished while it was opened`)
  return created
}

/**
 * One after the other from the top, each durable in its parent before there is anything in it. The first that
 * exists may be another process' that has not come so far yet, so it is synced as well.
 */
async function makeFolder(folder: string): Promise<void> {
  const parent = dirname(folder)
  if (parent === folder) return
  if (!existsSync(folder)) {
    await makeFolder(parent)
    try {
      await mkdir(folder)
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error
    }
  }
  syncFolder(parent)
}

/** Undefined where there is no store. @throws as `openStoreFolder` */
export async function readMarker(folder: string): Promise<StoreMarker | undefined> {
  const file = join(folder, MARKER_FILE)
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
  const marker = parseMarker(text)
  if (marker === undefined)
    throw new StoreDamagedError(`${file} is damaged: it is no store's marker`)
  if (marker.engine !== ENGINE) {
    throw new StoreInUseError(`${folder} is a store of engine ${JSON.stringify(marker.engine)}`)
  }
  if (marker.format > FORMAT) {
    throw new StoreFormatError(
      `${folder} has format ${marker.format}; this version reads up to ${FORMAT}. Use a newer Tidemark`,
    )
  }
  return marker
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
  // Another process may just have made it a store: its marker comes before everything else.
  if ((await readMarker(folder)) !== undefined) return
  throw new StoreInUseError(`${folder} is not a Tidemark store and not empty: it holds ${first}`)
}

/** Makes a missing or empty folder one that `createMarker` may make a store. @throws as `openStoreFolder` */
export async function makeEmptyFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder)
    await assertEmpty(folder)
    if ((await readMarker(folder)) !== undefined) throw new StoreInUseError(`${folder} is a store`)
  } catch (error) {
    throw folderError(error, folder)
  }
}

export async function createMarker(
  folder: string,
  marker: StoreMarker,
  random: Random,
): Promise<void> {
  const temporary = temporaryFile(folder, random)
  const handle = await open(temporary, 'wx')
  try {
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
      return new StoreInUseError(`${folder} is a file, not a folder`, { cause: error })
    default: {
      const reason = error instanceof Error ? error.message : String(error)
      return new StoreUnavailableError(`${folder} cannot be used: ${reason}`, { cause: error })
    }
  }
}
