/**
 * Hosts in a NestJS application.
 *
 * @packageDocumentation
 * @public
 */

export {
  ChangeFeedHandler,
  type ChangeFeedHandlerDecorator,
  type ChangeFeedHandlerOptions,
} from './change-feed-handler.ts'
export { TidemarkHosts } from './tidemark-hosts.ts'
export { TidemarkModule } from './tidemark-module.ts'
export type { TidemarkModuleOptions } from './tidemark-module-options.ts'
