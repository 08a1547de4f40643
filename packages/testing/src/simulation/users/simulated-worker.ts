import type { Clock, Random } from '@tidemark/contracts'

/** The process that an observer is in. It may be stopped at any instant, and killed; what it has in memory is gone then. */
export interface SimulatedWorker<World> {
  readonly hostName: string
  /** Time of this process. `clock.sleep` and `request` are all that lets simulated time pass. */
  readonly clock: Clock
  /** Chance that follows from the seed. */
  readonly random: Random
  /**
   * Does something to what is outside of all processes and outlives them: a database, a mail server. `work` is done as a
   * whole at one instant, after some ms, later or never where the network is disturbed.
   *
   * Rejects with ERR_STORE_UNAVAILABLE when no answer came: it may be done all the same. Whatever
   * `work` throws comes back too.
   */
  readonly request: <R>(work: (world: World) => R | PromiseLike<R>) => Promise<R>
}
