import { closeSync, fchmodSync, openSync } from 'node:fs'
import { chmod, lstat, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Who can use a store's files: the user that created them, or also the members of their group. Never other users. */
export type StoreAccess = 'owner' | 'group'

/** With group access, new files inherit the folder's group, whichever member creates them. */
const FOLDER_MODE = { owner: 0o700, group: 0o2770 } as const
export const FILE_MODE = { owner: 0o600, group: 0o660 } as const
const GROUP_READS_AND_WRITES = 0o060

/** The access of new files next to one with this mode. */
export function accessOfMode(mode: number): StoreAccess {
  return (mode & GROUP_READS_AND_WRITES) === GROUP_READS_AND_WRITES ? 'group' : 'owner'
}

/** Rejects with EEXIST when the path exists. */
export async function makeFolderFor(access: StoreAccess, folder: string): Promise<void> {
  await mkdir(folder, { mode: FOLDER_MODE[access] })
  // The umask may have removed the group's rights.
  if (access === 'group') await chmod(folder, FOLDER_MODE[access])
}

/** Creates an empty file. SQLite gives a database's log and shared memory the rights of the database. */
export function makeFileFor(access: StoreAccess, file: string): void {
  const handle = openSync(file, 'wx', FILE_MODE[access])
  try {
    if (access === 'group') fchmodSync(handle, FILE_MODE[access])
  } finally {
    closeSync(handle)
  }
}

const OTHERS_ENTER = 0o001
const OTHERS_WRITE = 0o002
const OTHERS_READ_OR_WRITE = 0o006

/**
 * Whether every user of the machine can read or change a store's files. Earlier versions created stores with the umask,
 * and opening a store changes no rights. Always false on Windows, whose folders do not show such rights.
 */
export async function isStoreOpenToEverybody(folder: string): Promise<boolean> {
  const { mode } = await stat(folder)
  if ((mode & OTHERS_ENTER) === 0) return false
  if ((mode & OTHERS_WRITE) !== 0) return true
  for (const name of await readdir(folder)) {
    const found = await lstat(join(folder, name))
    if (found.isFile() && (found.mode & OTHERS_READ_OR_WRITE) !== 0) return true
  }
  return false
}
