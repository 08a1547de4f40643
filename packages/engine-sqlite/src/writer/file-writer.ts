import { Connection } from '../connection/connection.ts'
import { READ_HEAD } from '../connection/head.ts'
import { FileIdentity } from '../connection/file-identity.ts'
import type { WriterSettings } from './writer-messages.ts'
import { DatabaseWriter, type BlockingClock } from './database-writer.ts'
import { WriteAheadLog } from './write-ahead-log.ts'

const OPEN_TIMEOUT_MS = 5000

/** Opens a file for its writer. Keep the log short between transactions. */
export function openFileWriter(
  settings: WriterSettings,
  clock: BlockingClock,
): { readonly writer: DatabaseWriter; readonly log: WriteAheadLog } {
  const { file, durability, maxLogBytes: maxBytes } = settings
  const connection = Connection.open(file, { timeoutMs: OPEN_TIMEOUT_MS })
  // Touches the file, so that the wait for another process that is recovering its log ends here.
  connection.get(READ_HEAD)
  // From now on, SQLite's own wait is off, because it is unfair between processes. The writer waits in 1 ms steps
  // (decision 0021, rule 4).
  connection.exec('PRAGMA busy_timeout = 0')
  connection.exec(`PRAGMA synchronous = ${durability === 'sync' ? 'FULL' : 'NORMAL'}`)
  const identity = new FileIdentity(file)
  const assertUsable = (): void => identity.assertSame()
  const writer = new DatabaseWriter(connection, { ...settings, name: file, assertUsable }, clock)
  return { writer, log: new WriteAheadLog(connection, { file, maxBytes, clock }) }
}
