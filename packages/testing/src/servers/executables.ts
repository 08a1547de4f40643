import { access, constants } from 'node:fs/promises'
import { delimiter } from 'node:path'

/** The folders of PATH, in order. */
export function foldersOfPath(): readonly string[] {
  return (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
}

export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
