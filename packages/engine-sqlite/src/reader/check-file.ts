import { readCatalog } from '../connection/catalog-rows.ts'
import { Connection } from '../connection/connection.ts'
import { portableError } from '../connection/sqlite-error.ts'
import type { FromChecker } from '../writer/writer-messages.ts'
import { checkDatabase } from './check-database.ts'

const TIMEOUT_MS = 2000

/** Checks one database's file in one snapshot. Until the end, its log cannot be reused. */
export function checkFile(file: string): FromChecker {
  let connection: Connection | undefined
  try {
    connection = Connection.open(file, { timeoutMs: TIMEOUT_MS })
    connection.exec('PRAGMA query_only = 1')
    return check(connection)
  } catch (error) {
    return { kind: 'failed', error: portableError(error, file) }
  } finally {
    connection?.close()
  }
}

function check(connection: Connection): FromChecker {
  return connection.transaction('BEGIN', () => {
    const catalog = readCatalog(connection)
    if (catalog.dropped) return { kind: 'gone' }
    return { kind: 'checked', problems: checkDatabase(connection, catalog) }
  })
}
