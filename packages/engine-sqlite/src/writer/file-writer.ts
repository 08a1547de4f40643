import { Connection } from '../connection/connection.ts'
import { READ_HEAD } from '../connection/head.ts'
import { FileIdentity } from '../connection/file-identity.ts'
import type { WriterSettings } from './writer-messages.ts'
import { DatabaseWriter, type BlockingClock } from './database-writer.ts'
import { UnsyncedCommits, type SyncedFile } from './unsynced-commits.ts'
import { WriteAheadLog } from './write-ahead-log.ts'

const OPEN_TIMEOUT_MS = 5000

/** Opens a file for its writer. Keep the log short between transactions. */
export function openFileWriter(
  settings: WriterSettings,
  {
    clock,
    openSyncedFile,
  }: {
    readonly clock: BlockingClock
    /** Opens a file that nobody locks, to put on disk what any process wrote to it. */
    readonly openSyncedFile: (file: string) => SyncedFile
  },
): {
  readonly writer: DatabaseWriter
  readonly log: WriteAheadLog
  readonly unsynced: UnsyncedCommits
} {
  const { file, maxLogBytes: maxBytes } = settings
  const identity = new FileIdentity(file)
  const connection = Connection.open(file, { timeoutMs: OPEN_TIMEOUT_MS })
  // Touches the file, so that the wait for another process that is recovering its log ends here.
  connection.get(READ_HEAD)
  // From now on, SQLite's own wait is off, because it is unfair between processes. The writer waits in 1 ms steps
  // (decision 0021, rule 4).
  connection.exec('PRAGMA busy_timeout = 0')
  const assertUsable = (): void => identity.assertSame()
  // SQLite has no lock on the log: its locks are on the file itself and on the index of the log (`-shm`).
  // The file at this name is SQLite's as long as it has the database open, unless that was replaced meanwhile.
  const syncedLog = openSyncedFile(`${file}-wal`)
  assertUsable()
  const unsynced = new UnsyncedCommits(connection, { ...settings, clock, log: syncedLog })
  const options = { ...settings, name: file, assertUsable, unsynced }
  const writer = new DatabaseWriter(connection, options, clock)
  const log = new WriteAheadLog(connection, { file, maxBytes, clock, unsynced })
  return { writer, unsynced, log }
}
