import type { ChangeFeedProcessorHostOptions } from '@tidemark/processor'

/** What the hosts of all handlers have in common. */
export interface TidemarkModuleOptions extends Partial<
  Omit<ChangeFeedProcessorHostOptions, 'feed' | 'group' | 'logger'>
> {
  /** `false` turns the log off. @default Nest's logger, with the context `Tidemark` */
  logger?: ChangeFeedProcessorHostOptions['logger']
  /**
   * When a host stopped by itself, because it cannot go on:
   *
   * - `report`: `TidemarkHosts.health()` and the log say so, and the application goes on without it.
   * - `shutDown`: this process also gets SIGTERM, so that the application shuts down (with `enableShutdownHooks()`: the other hosts
   *   drain) and whoever watches over it starts it again.
   *
   * @default 'report'
   */
  onHostFailure?: 'report' | 'shutDown' | undefined
  /**
   * Closes what the hosts used, such as the store: after all of them are drained and the application takes no more requests.
   * @default nothing
   */
  close?: (() => Promise<void> | void) | undefined
}
