import type { Connection } from './connection.ts'
import { textColumn } from './column.ts'

/*
 * Rows of `meta`, one for each process with commits that did not wait for the disk: which boot of the machine can lose
 * them.
 */

/** Name prefix; the value is the boot id. */
const PREFIX = 'relaxed:'

/** A process that writes, and the present boot of its machine. */
export interface RelaxedWriter {
  readonly processId: string
  readonly bootId: string
}

export function hasRelaxedMark(
  connection: Connection,
  { processId, bootId }: RelaxedWriter,
): boolean {
  const row = connection.get('SELECT value FROM meta WHERE name = ?', `${PREFIX}${processId}`)
  return row !== undefined && textColumn(row, 0) === bootId
}

export function writeRelaxedMark(
  connection: Connection,
  { processId, bootId }: RelaxedWriter,
): void {
  connection.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', `${PREFIX}${processId}`, bootId)
}

export function removeRelaxedMark(connection: Connection, { processId }: RelaxedWriter): void {
  connection.run('DELETE FROM meta WHERE name = ?', `${PREFIX}${processId}`)
}

/** Of all processes. */
export function removeRelaxedMarks(connection: Connection): void {
  connection.run(`DELETE FROM meta WHERE name LIKE '${PREFIX}%'`)
}

/** Of other boots. True if there were any: commits may have been lost. */
export function removeMarksOfOtherBoots(connection: Connection, bootId: string): boolean {
  return connection.run(`DELETE FROM meta WHERE name LIKE '${PREFIX}%' AND value <> ?`, bootId) > 0
}
