/**
 * Spans and metrics for OpenTelemetry.
 *
 * @packageDocumentation
 * @public
 */

export { openTelemetry, type OpenTelemetryOptions } from './open-telemetry.ts'
export { type TraceContextOf } from './trace-context.ts'
export {
  METRICS,
  metricViews,
  prometheusName,
  type MetricDescription,
  type MetricView,
} from './metrics.ts'
export type { InstrumentOptions, ReadingOptions } from './instruments.ts'
export { instrumentHost, type InstrumentedHost } from './instrument-host.ts'
export { instrumentGroups, type GroupReadingOptions } from './instrument-groups.ts'
export {
  instrumentExpiry,
  instrumentStore,
  type CollectionExpiry,
  type InstrumentedStore,
} from './instrument-store.ts'
export {
  instrumentQueues,
  type InstrumentedBroker,
  type QueueReadingOptions,
} from './instrument-queues.ts'
export { instrumentProcess } from './platform/instrument-process.ts'
export { instrumentRequests, type RecordedRequest } from './instrument-requests.ts'
