export {
  startAdminServer,
  type AdminServerOptions,
  type RunningAdminServer,
} from './start-admin-server.ts'
