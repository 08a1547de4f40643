/**
 * Queues and topics over AMQP 1.0.
 *
 * @packageDocumentation
 * @public
 */

export {
  startAmqpServer,
  type AmqpFailure,
  type AmqpServerOptions,
  type RunningAmqpServer,
} from './server/start-amqp-server.ts'
export {
  webSocketDoor,
  type UpgradeRequest,
  type WebSocketDoorOptions,
} from './server/websocket-door.ts'
export {
  ALL_RIGHTS,
  EMULATOR_ACCESS_KEY,
  type AccessPolicy,
  type AccessRight,
} from '@tidemark/messaging/front'
