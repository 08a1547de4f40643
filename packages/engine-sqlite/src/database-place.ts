import type { LoopTurns } from './platform/loop-turns.ts'
import type { DatabaseReader } from './reader/database-reader.ts'
import type { TaskWriter } from './writer/task-writer.ts'

/** Where a database is: in a file, which other processes can also use, or in the memory of this process. */
export interface DatabasePlace {
  readonly reader: DatabaseReader
  readonly writer: TaskWriter
  /** Of calls on the caller's thread. */
  readonly turns: LoopTurns
  /**
   * Call it after each read.
   *
   * @throws ERR_STORE_UNAVAILABLE when other processes can no longer reach what was read
   */
  assertReachable(): void
  /** Calls `tell` if other processes may have committed since it was last called. */
  ifNews(tell: () => void): void
  /** Calls `recheck` from time to time until `stopWatching`. Never keeps the process alive. */
  watch(recheck: () => void): void
  stopWatching(): void
  /** Wakes readers in other processes: something was committed. */
  announce(): void
  /** Finds contradictions between documents, indexes, ranges and counters. */
  check(): Promise<readonly string[]>
  /** Finishes accepted requests and checks, then releases everything. */
  close(): Promise<void>
}
