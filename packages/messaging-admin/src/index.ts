export {
  startAdminServer,
  type AdminFailure,
  type AdminServerOptions,
  type RunningAdminServer,
} from './server/start-admin-server.ts'
