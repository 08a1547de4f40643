import type { Schedule } from '../schedule/schedule.ts'
import type { StoreChange } from '../world/lease-server.ts'
import type { World } from '../world/world.ts'
import type { WorldListener } from '../world/world-events.ts'

/** What an oracle found. */
export interface Violation {
  /** Of the oracle, as in docs/spec: O1 to O13. */
  readonly oracle: string
  readonly message: string
  readonly atMs: number
}

/** Where oracles tell what they found. The first word counts. */
export interface Verdict {
  fail(oracle: string, message: string): void
}

/** One property that has to hold of every run. */
export interface Oracle extends WorldListener {
  storeChanged?(change: StoreChange): void
  /** Everything has come to rest; now nothing happens for a while but that each lease costs what it costs. */
  steady?(world: World): void
  /** All faults are over, and everything has come to rest. */
  atRest?(world: World): void
}

export type MakeOracle = (verdict: Verdict, about: { readonly schedule: Schedule }) => Oracle
