/** Names of attributes, as OpenTelemetry's conventions have them. */
export const ATTRIBUTE = {
  system: 'messaging.system',
  operationName: 'messaging.operation.name',
  operationType: 'messaging.operation.type',
  destination: 'messaging.destination.name',
  subscription: 'messaging.destination.subscription.name',
  partition: 'messaging.destination.partition.id',
  group: 'messaging.consumer.group.name',
  client: 'messaging.client.id',
  batchCount: 'messaging.batch.message_count',
  errorType: 'error.type',
  method: 'http.request.method',
  status: 'http.response.status_code',
  cpuMode: 'cpu.mode',
} as const

/** Our own. */
export const OWN = {
  hostStatus: 'tidemark.host.status',
  incident: 'tidemark.host.incident',
  leaseState: 'tidemark.lease.state',
  transition: 'tidemark.lease.transition',
  reason: 'tidemark.lease.reason',
  problem: 'tidemark.lease.problem',
  phase: 'tidemark.observer.phase',
  work: 'tidemark.maintenance.work',
  rangeChange: 'tidemark.range.change',
  messageState: 'tidemark.message.state',
} as const

/** What OpenTelemetry's conventions call the system. */
export const SYSTEM = 'tidemark'
