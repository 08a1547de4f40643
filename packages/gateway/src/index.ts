/**
 * The server that speaks the protocol of Azure Cosmos DB.
 *
 * @packageDocumentation
 * @public
 */

export { EMULATOR_KEY } from '@tidemark/contracts/internal'
export type { GatewayKeys } from './authorization/gateway-keys.ts'
export { createGateway, type Gateway } from './server/gateway.ts'
export type { GatewayFailure, GatewayOptions, ServedRequest } from './server/gateway-options.ts'
export type { QueryLimits } from './query/query-budget.ts'
export {
  startGateway,
  type RunningGateway,
  type StartGatewayOptions,
} from './server/start-gateway.ts'
export {
  nodeHandler,
  serveRequests,
  type ServedRequests,
  type ServeRequestsOptions,
} from './server/serve-requests.ts'
export type { ListenOptions } from './platform/listener.ts'
export type { UpgradeRequest } from './platform/upgrades.ts'
