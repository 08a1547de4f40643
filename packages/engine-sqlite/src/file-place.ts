import type { Clock } from '@tidemark/contracts'
import { Connection } from './connection/connection.ts'
import { withStoreErrors } from './connection/sqlite-error.ts'
import type { DatabasePlace } from './database-place.ts'
import { FileIdentity } from './connection/file-identity.ts'
import { FileChecks } from './platform/file-checks.ts'
import { LoopTurns } from './platform/loop-turns.ts'
import { PollTimer } from './platform/poll-timer.ts'
import type { WriterClient } from './platform/writer-client.ts'
import { DatabaseReader } from './reader/database-reader.ts'

/** Fallback behind the doorbell: wake-ups rest on it. Costs a microsecond each time. */
const POLL_INTERVAL_MS = 10
/** A check for waiting readers is followed by a pause of this many times its duration. */
const RECHECK_REST = 4
/** Maximum total time of consecutive reads without a turn of the event loop. */
const MAX_STRETCH_MS = 2
/** How long SQLite itself waits for a lock. Readers meet one only while a log is recovered. */
const READ_TIMEOUT_MS = 2000
/** A file up to this size is checked on the caller's thread: about ten milliseconds. */
const MAX_CHECK_BYTES = 2 * 1024 * 1024

/** One database file: a writer in its thread, a reader on the caller's. */
export class FilePlace implements DatabasePlace {
  readonly reader: DatabaseReader
  readonly writer: WriterClient
  readonly turns: LoopTurns = new LoopTurns({ maxMs: MAX_STRETCH_MS })
  /** Wakes readers in other processes. */
  readonly announce: () => void
  readonly #clock: Clock
  readonly #identity: FileIdentity
  readonly #checks: FileChecks
  readonly #poll = new PollTimer(POLL_INTERVAL_MS)
  #dataVersion = -1
  #restUntilMs = 0

  constructor(
    file: string,
    parts: {
      readonly databaseId: string
      readonly writer: WriterClient
      readonly clock: Clock
      readonly nowMs: (atLeastMs: number) => number
      readonly announce: () => void
    },
  ) {
    const { databaseId, nowMs } = parts
    const connection = withStoreErrors(file, () =>
      Connection.open(file, { timeoutMs: READ_TIMEOUT_MS }),
    )
    connection.exec('PRAGMA query_only = 1')
    this.reader = new DatabaseReader(connection, {
      name: file,
      databaseId,
      nowMs,
      isFollowed: true,
    })
    this.writer = parts.writer
    this.announce = parts.announce
    this.#clock = parts.clock
    this.#identity = new FileIdentity(file)
    this.#checks = new FileChecks(file, databaseId)
  }

  assertReachable(): void {
    this.#identity.assertSameNowAndThen(this.#clock.monotonicMs())
  }

  ifNews(tell: () => void): void {
    const beganMs = this.#clock.monotonicMs()
    // The next poll does it: many waiting readers and many commits must not block the thread.
    if (beganMs < this.#restUntilMs) return
    const version = this.reader.dataVersion()
    if (version === this.#dataVersion) {
      this.#identity.assertSameNowAndThen(beganMs)
      return
    }
    this.#dataVersion = version
    tell()
    const endMs = this.#clock.monotonicMs()
    this.#restUntilMs = endMs + (endMs - beganMs) * RECHECK_REST
  }

  watch(recheck: () => void): void {
    this.#poll.start(recheck)
  }

  stopWatching(): void {
    this.#poll.stop()
  }

  async check(): Promise<readonly string[]> {
    return this.reader.check(MAX_CHECK_BYTES) ?? this.#checks.run()
  }

  async close(): Promise<void> {
    await this.writer.close()
    await this.#checks.ended()
    this.reader.close()
  }
}
