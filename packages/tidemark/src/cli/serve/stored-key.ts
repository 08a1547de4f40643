import { randomBytes } from 'node:crypto'
import { link, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '@tidemark/contracts'
import { InputError } from '../input-error.ts'
import { readPrivateFile } from './private-file.ts'

const FILE = 'gateway-key'
/** As long as Azure's keys. */
const KEY_BYTES = 64
const OWNER_ONLY = 0o600

/**
 * The key in a store's folder, readable by its owner only. Creates it if it is missing. Safe with several processes at
 * once: all of them get the same key. Rejects with ERR_INPUT when another user can read it, or could have put it there.
 */
export async function storedKey(
  folder: string,
): Promise<{ readonly key: string; readonly file: string }> {
  const file = join(folder, FILE)
  await assertNotForEverybody(folder)
  const present = await read(file)
  if (present !== undefined) return { key: present, file }
  const temporary = `${file}.${randomBytes(8).toString('hex')}.tmp`
  const key = randomBytes(KEY_BYTES).toString('base64')
  try {
    await writeFile(temporary, `${key}\n`, { mode: OWNER_ONLY, flag: 'wx' })
    // A link, not a rename: it never replaces the key of another process.
    await link(temporary, file)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  } finally {
    await rm(temporary, { force: true })
  }
  return { key: (await read(file)) ?? key, file }
}

/** The key in a store's folder. Rejects with ERR_INPUT when it is gone. */
export async function presentKey(folder: string): Promise<string> {
  const file = join(folder, FILE)
  const key = await read(file)
  if (key === undefined) throw new InputError(`the key in ${file} is gone`)
  return key
}

async function read(file: string): Promise<string | undefined> {
  try {
    return (await readPrivateFile(file, { links: 'refuse' })).trim()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    const reason = error instanceof Error ? error.message : String(error)
    throw new InputError(`the key in ${file} cannot be read: ${reason}`, { cause: error })
  }
}

/** Any user could replace a key there. */
async function assertNotForEverybody(folder: string): Promise<void> {
  const { mode } = await stat(folder)
  if (process.platform === 'win32' || (mode & 0o002) === 0) return
  throw new InputError(
    `every user of this machine can write to ${folder}, so it cannot hold a key: run chmod o-w ${folder}, or give the key with --key-file or the environment`,
  )
}
