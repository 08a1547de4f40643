import type { KeyedStoreOptions } from './keyed-store.ts'

/** What the processes of these tests are started with. */

export interface RangeProcessTask extends KeyedStoreOptions {
  /** Its own, appended to. */
  readonly historyFile: string
}

export interface RangeHostTask extends RangeProcessTask {
  readonly hostName: string
}
