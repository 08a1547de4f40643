import { numberColumn } from './column.ts'
import type { Connection } from './connection.ts'

/** What every transaction reads first. */
export interface Head {
  /** Rises with each change of the catalog. */
  readonly catalogVersion: number
  /** The highest store time of any commit or sweep, epoch ms. */
  readonly clockMs: number
}

export const READ_HEAD = 'SELECT catalog, clock FROM head'

export function readHead(connection: Connection): Head {
  const row = connection.get(READ_HEAD) ?? []
  return { catalogVersion: numberColumn(row, 0), clockMs: numberColumn(row, 1) }
}

/** Makes every connection read the catalog again. */
export function raiseCatalogVersion(connection: Connection): void {
  connection.run('UPDATE head SET catalog = catalog + 1')
}

export function storeClock(connection: Connection, clockMs: number): void {
  connection.run('UPDATE head SET clock = ?', clockMs)
}

/** Higher than the stamp of every earlier purge, also of one that a crash of the machine lost. */
export function nextPurgeStamp(connection: Connection, timeMs: number): number {
  const row = connection.get('UPDATE head SET purge = max(purge + 1, ?) RETURNING purge', timeMs)
  return numberColumn(row ?? [], 0)
}
