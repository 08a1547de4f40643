/**
 * Management of queues and topics over HTTP.
 *
 * @packageDocumentation
 * @public
 */

export {
  startAdminServer,
  type AdminFailure,
  type AdminServerOptions,
  type RunningAdminServer,
} from './server/start-admin-server.ts'
