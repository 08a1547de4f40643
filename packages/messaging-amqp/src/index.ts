export {
  startAmqpServer,
  type AmqpFailure,
  type AmqpServerOptions,
  type RunningAmqpServer,
} from './server/start-amqp-server.ts'
export {
  ALL_RIGHTS,
  EMULATOR_ACCESS_KEY,
  type AccessPolicy,
  type AccessRight,
} from '@tidemark/messaging/front'
