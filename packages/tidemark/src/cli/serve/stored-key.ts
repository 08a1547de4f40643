import { randomBytes } from 'node:crypto'
import { link, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '@tidemark/contracts'
import { InputError } from '../input-error.ts'
import { readPrivateFile } from './private-file.ts'

const FILE = 'gateway-key'
/** As long as those of Azure. */
const KEY_BYTES = 64
const OWNER_ONLY = 0o600

/**
 * The key that is kept in a store's folder, readable by its owner only; made when it is missing. Safe when several
 * processes do it at once: all of them get the same. Rejects with ERR_INPUT where another user could have put it there, or
 * can read it.
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
    // A link, not a rename: it is never made over the key of another process.
    await link(temporary, file)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  } finally {
    await rm(temporary, { force: true })
  }
  return { key: (await read(file)) ?? key, file }
}

/** The key that is kept in a store's folder. Rejects with ERR_INPUT when it is gone. */
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

/** Anybody could take a key away there, and put another. */
async function assertNotForEverybody(folder: string): Promise<void> {
  const { mode } = await stat(folder)
  if (process.platform === 'win32' || (mode & 0o002) === 0) return
  throw new InputError(
    `every user of this machine may write to ${folder}, so that no key can be kept in it: chmod o-w ${folder}, or give the key by --key-file or the environment`,
  )
}
