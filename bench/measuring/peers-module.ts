import type { Scenario } from './scenario.ts'

export interface PeersOptions {
  readonly seconds: number
  readonly runs: number
  readonly documents: number
  /** Part of the name of scenario and peer, as in `drain.embedded`. */
  readonly only: string
  /** Peers to leave out. */
  readonly without: readonly string[]
  readonly json: string | undefined
}

/** What `bench/peers` exports. Loaded at run time: its packages are installed only for `--peers`. */
export interface PeersModule {
  /** Figures as `--list` prints them. */
  readonly listPeers: (options: Pick<PeersOptions, 'only' | 'without'>) => readonly string[]
  /** Measures each scenario with all peers in turns, prints a table for each, and writes the figures. */
  readonly runPeers: (options: PeersOptions) => Promise<void>
  readonly RIVAL_QUEUES: readonly Scenario[]
}
