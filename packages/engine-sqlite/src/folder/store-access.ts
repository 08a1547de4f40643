import { closeSync, fchmodSync, openSync } from 'node:fs'
import { chmod, lstat, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Who may use a store's files: the user that made them, or the members of their group too. Nobody else, ever. */
export type StoreAccess = 'owner' | 'group'

/** With group access the folder hands its group on to what is made in it, whichever member makes it. */
const FOLDER_MODE = { owner: 0o700, group: 0o2770 } as const
export const FILE_MODE = { owner: 0o600, group: 0o660 } as const
const GROUP_READS_AND_WRITES = 0o060

/** What new files beside one with this mode allow. */
export function accessOfMode(mode: number): StoreAccess {
  return (mode & GROUP_READS_AND_WRITES) === GROUP_READS_AND_WRITES ? 'group' : 'owner'
}

/** Rejects with EEXIST when there is something already. */
export async function makeFolderFor(access: StoreAccess, folder: string): Promise<void> {
  await mkdir(folder, { mode: FOLDER_MODE[access] })
  // The umask may have taken the group's rights away.
  if (access === 'group') await chmod(folder, FOLDER_MODE[access])
}

/** Makes an empty file. SQLite gives a database's log and shared memory the rights of the database. */
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
 * Whether every user of the machine can read or change a store's files. Stores of earlier versions were made by the umask, and
 * opening them changes no rights. Always false on Windows, whose folders do not show such rights.
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
