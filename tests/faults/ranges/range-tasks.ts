import type { FaultProcessTask } from '../fault-process.ts'
import type { KeyedStoreOptions } from './keyed-store.ts'

/** What the processes of these tests are started with. */

export interface RangeProcessTask extends KeyedStoreOptions, FaultProcessTask {}

export interface RangeHostTask extends RangeProcessTask {
  readonly hostName: string
}
