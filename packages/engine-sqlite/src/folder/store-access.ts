import { closeSync, fchmodSync, openSync } from 'node:fs'
import { chmod, mkdir } from 'node:fs/promises'

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
