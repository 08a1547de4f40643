import { statSync } from 'node:fs'
import { textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

/** Row of `meta`: the identity of this file in the file system when it was last opened. */
const FILE = 'file'
/** Row of `meta` of a file that was copied, for its next opening. */
const COPIED = 'copied'

/**
 * Whether a file is a copy that was not open before, including one made by hand. Records the file's identity for the
 * next call. It cannot detect a copy that was written over its own original, or a volume that was restored as a whole.
 * Call it within a transaction.
 */
export function noteCopy(connection: Connection, file: string): boolean {
  const present = identityOf(file)
  const row = connection.get('SELECT value FROM meta WHERE name = ?', FILE)
  const known = row && textColumn(row, 0)
  const isMarked = connection.get('SELECT 1 FROM meta WHERE name = ?', COPIED) !== undefined
  if (known === present && !isMarked) return false
  connection.run('DELETE FROM meta WHERE name = ?', COPIED)
  connection.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', FILE, present)
  return isMarked || known !== undefined
}

/** Makes the next opening treat the file as a copy in any case. */
export function markCopied(connection: Connection): void {
  connection.run('INSERT OR REPLACE INTO meta VALUES (?, 1)', COPIED)
}

/** File numbers are reused, so the creation time is part of the identity; 0 where it is unknown. */
function identityOf(file: string): string {
  const { ino, birthtimeNs } = statSync(file, { bigint: true })
  return `${ino}:${birthtimeNs}`
}
