import { statSync } from 'node:fs'
import { textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

/** Row of `meta`: which file of the file system this was when it was last opened. */
const FILE = 'file'
/** Row of `meta` of a file that was copied, for its next opening. */
const COPIED = 'copied'

/**
 * Whether a file is a copy that was not open before, also one made by hand; it is known from then on. A copy that was
 * written over the very file that it was made of, and a volume that was put back as a whole, cannot be told.
 * Within a transaction.
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

/** Lets the next opening take the file for a copy, whatever it looks like. */
export function markCopied(connection: Connection): void {
  connection.run('INSERT OR REPLACE INTO meta VALUES (?, 1)', COPIED)
}

/** Numbers of files are used again, so the time at which it was made is part of it; 0 where that is unknown. */
function identityOf(file: string): string {
  const { ino, birthtimeNs } = statSync(file, { bigint: true })
  return `${ino}:${birthtimeNs}`
}
