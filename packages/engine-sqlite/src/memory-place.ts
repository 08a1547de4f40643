import type { DatabasePlace } from './database-place.ts'
import { Connection } from './connection/connection.ts'
import { DATABASE_TABLES } from './connection/schema.ts'
import { DirectWriter } from './platform/direct-writer.ts'
import { LoopTurns } from './platform/loop-turns.ts'
import { DatabaseReader } from './reader/database-reader.ts'

/**
 * Maximum number of consecutive calls without a turn of the event loop: of documents of 2 MB, a tenth of a second. Not a
 * time: what runs under a simulated clock is the same every time.
 */
const MAX_CALLS = 10

/**
 * A new database in the memory of this process. One connection writes and reads: each does its work in one go, so
 * neither meets a transaction of the other.
 */
export class MemoryPlace implements DatabasePlace {
  readonly reader: DatabaseReader
  readonly writer: DirectWriter
  readonly turns: LoopTurns = new LoopTurns({ maxCalls: MAX_CALLS })

  constructor(databaseId: string, nowMs: (atLeastMs: number) => number) {
    const name = `database ${databaseId} in memory`
    const connection = Connection.inMemory(DATABASE_TABLES)
    this.reader = new DatabaseReader(connection, { name, databaseId, nowMs })
    this.writer = new DirectWriter(connection, { name, turns: this.turns })
  }

  assertReachable(): void {
    // Nobody else uses it.
  }

  ifNews(): void {
    // Every commit is this process' own.
  }

  watch(): void {
    // As above.
  }

  stopWatching(): void {
    // As above.
  }

  announce(): void {
    // As above.
  }

  async check(): Promise<readonly string[]> {
    return this.reader.check(Infinity) ?? []
  }

  async close(): Promise<void> {
    await this.writer.close()
  }
}
