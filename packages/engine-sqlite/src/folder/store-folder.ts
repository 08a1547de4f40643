import { link, mkdir, open, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  StoreDamagedError,
  StoreFormatError,
  StoreInUseError,
  StoreUnavailableError,
  type Random,
} from '@tidemark/contracts'

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
const TEMPORARY = '.tidemark-'

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
    await mkdir(folder, { recursive: true })
    const present = await readMarker(folder)
    if (present !== undefined) return present
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

async function readMarker(folder: string): Promise<StoreMarker | undefined> {
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
  const names = (await readdir(folder)).filter((name) => !name.startsWith(TEMPORARY))
  const [first] = names
  // Another process may just have made it a store.
  if (first === undefined || names.includes(MARKER_FILE)) return
  throw new StoreInUseError(`${folder} is not a Tidemark store and not empty: it holds ${first}`)
}

/** Written aside and linked into place, so that nobody ever reads half of it; then made durable. */
async function createMarker(folder: string, marker: StoreMarker, random: Random): Promise<void> {
  const temporary = join(folder, `${TEMPORARY}${random.hex(8)}`)
  const handle = await open(temporary, 'wx')
  try {
    await handle.writeFile(`${JSON.stringify(marker)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  try {
    await link(temporary, join(folder, MARKER_FILE))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  } finally {
    await rm(temporary, { force: true })
  }
  await syncFolder(folder)
}

/** Makes names in a folder durable, not only what is in the files. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders, and does not need to.
  const handle = await open(folder, 'r').catch(() => undefined)
  try {
    await handle?.sync()
  } catch {
    // A file system that cannot sync folders orders these changes itself.
  } finally {
    await handle?.close()
  }
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

function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('errno' in error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
