import type {
  Counter,
  Histogram,
  Meter,
  MetricOptions,
  Observable,
  ObservableCounter,
} from '@opentelemetry/api'
import { ATTRIBUTE as A, OWN } from './attributes.ts'

/** A metric that this package can record. */
export interface MetricDescription {
  readonly name: string
  /** A gauge is read when somebody asks for metrics. */
  readonly kind: 'counter' | 'histogram' | 'gauge'
  /** UCUM: `s`, `By`, `1`, or what is counted in braces. */
  readonly unit: string
  readonly description: string
  /** Names of the attributes that its series have; some only where they apply. */
  readonly attributes: readonly string[]
}

const { group, client, destination, subscription, partition, errorType } = A
const CALL = [A.system, A.operationName, destination, subscription, group, errorType]
const HOST = [group, client]

/** Every metric, in the order of the documentation. */
export const METRICS: readonly MetricDescription[] = [
  // OpenTelemetry's conventions for messaging.
  counter('messaging.client.sent.messages', '{message}', 'Messages that were sent', CALL),
  counter(
    'messaging.client.consumed.messages',
    '{message}',
    'Messages that were received, and changes that an observer or handler was given',
    CALL,
  ),
  histogram('messaging.client.operation.duration', 's', 'Duration of send, receive and settle', [
    ...CALL,
    A.operationType,
  ]),
  histogram('messaging.process.duration', 's', 'Duration of calls of observers and handlers', CALL),
  // A host.
  gauge('tidemark.host.leases', '{lease}', 'Leases of the host', [...HOST, OWN.leaseState]),
  gauge('tidemark.host.status', '{host}', '1 for the status that the host has, 0 for others', [
    ...HOST,
    OWN.hostStatus,
  ]),
  gauge('tidemark.host.session.remaining', 's', 'How long the session lasts unrenewed', HOST),
  gauge(
    'tidemark.host.stalled',
    's',
    'Longest time without progress of a lease that has work to do',
    HOST,
  ),
  counter('tidemark.host.incidents', '{incident}', 'Events of the host that need attention', [
    ...HOST,
    OWN.incident,
  ]),
  counter('tidemark.lease.transitions', '{transition}', 'Changes of ownership of leases', [
    ...HOST,
    OWN.transition,
    OWN.reason,
  ]),
  counter('tidemark.checkpoints', '{checkpoint}', 'Positions that were stored', HOST),
  counter('tidemark.observer.errors', '{error}', 'Calls of an observer that failed', [
    ...HOST,
    OWN.phase,
    errorType,
  ]),
  counter('tidemark.feed.errors', '{error}', 'Reads of the feed that failed', [...HOST, errorType]),
  counter('tidemark.lease_store.errors', '{error}', 'Times that the lease store went away', [
    ...HOST,
    errorType,
  ]),
  counter('tidemark.dead_letters', '{letter}', 'Changes that became dead letters', HOST),
  counter('tidemark.dead_letters.redriven', '{letter}', 'Dead letters that succeeded later', HOST),
  // A group, over all its hosts.
  gauge('tidemark.group.lag', '{change}', 'Changes that the group has not processed, at least', [
    group,
    destination,
  ]),
  gauge('tidemark.group.lag.age', 's', 'How long the oldest of them has been waiting', [
    group,
    destination,
  ]),
  gauge('tidemark.group.hosts', '{host}', 'Hosts of the group with a live session', [
    group,
    destination,
  ]),
  gauge('tidemark.group.leases', '{lease}', 'Leases of the group', [
    group,
    destination,
    OWN.leaseState,
  ]),
  gauge('tidemark.group.problems', '{lease}', 'Leases that cannot continue without help', [
    group,
    destination,
    OWN.problem,
  ]),
  gauge('tidemark.lease.lag', '{change}', 'The same as of the group, of the worst ranges', [
    group,
    destination,
    partition,
  ]),
  gauge('tidemark.lease.lag.age', 's', 'The same as of the group, of the worst ranges', [
    group,
    destination,
    partition,
  ]),
  // A store.
  counter('tidemark.documents.expired', '{document}', 'Documents that expired', [destination]),
  counter('tidemark.pending_deletes.purged', '{document}', 'Pending deletes that were removed', [
    destination,
  ]),
  counter('tidemark.versions.trimmed', '{version}', 'Entries of the log that were removed', [
    destination,
  ]),
  counter('tidemark.range.changes', '{range}', 'Splits and merges', [destination, OWN.rangeChange]),
  counter('tidemark.maintenance.errors', '{error}', 'Background work that failed', [
    OWN.work,
    errorType,
  ]),
  gauge('tidemark.collection.pending_deletes', '{document}', 'Pending deletes that are kept', [
    destination,
  ]),
  gauge('tidemark.collection.unswept', '{document}', 'Expired documents still to be swept', [
    destination,
  ]),
  // Queues and subscriptions.
  gauge('tidemark.queue.messages', '{message}', 'Messages; no message has two of the states', [
    destination,
    subscription,
    OWN.messageState,
  ]),
  gauge('tidemark.queue.size', 'By', 'Bytes of all messages', [destination, subscription]),
  gauge('tidemark.queue.oldest_message.age', 's', 'Since the oldest active message was enqueued', [
    destination,
    subscription,
  ]),
  // A server and its process, by OpenTelemetry's conventions.
  histogram('http.server.request.duration', 's', 'Duration of requests of the gateway', [
    A.method,
    A.status,
  ]),
  counter('process.cpu.time', 's', 'CPU time of the process', [A.cpuMode]),
  gauge('process.memory.usage', 'By', 'Resident memory of the process', []),
  gauge('process.uptime', 's', 'Since the process started', []),
  gauge('nodejs.eventloop.utilization', '1', 'Share of time in which the event loop was busy', []),
]

/** Of durations, as the conventions say. */
const BOUNDARIES_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** What units add to the name, as OpenTelemetry's rules for Prometheus say. */
const SUFFIXES: ReadonlyMap<string, string> = new Map([
  ['s', '_seconds'],
  ['By', '_bytes'],
  ['1', '_ratio'],
])

/** The name that a metric has in Prometheus: from `tidemark serve`, and from a collector with its defaults. */
export function prometheusName({ name, kind, unit }: MetricDescription): string {
  const total = kind === 'counter' ? '_total' : ''
  return `${name.replaceAll('.', '_')}${SUFFIXES.get(unit) ?? ''}${total}`
}

/** How a metric of an SDK is renamed: an item of the `views` of its `MeterProvider`. */
export interface MetricView {
  readonly instrumentName: string
  readonly name: string
}

/** Give metrics their names of Prometheus where an exporter does not add units. Exporters add `_total` themselves. */
export function metricViews(): MetricView[] {
  return METRICS.map(({ name, unit }) => ({
    instrumentName: name,
    name: `${name}${SUFFIXES.get(unit)?.replace('_', '.') ?? ''}`,
  }))
}

export function counterOf(meter: Meter, name: string): Counter {
  return meter.createCounter(name, optionsOf(name))
}

export function observedCounterOf(meter: Meter, name: string): ObservableCounter {
  return meter.createObservableCounter(name, optionsOf(name))
}

export function histogramOf(meter: Meter, name: string): Histogram {
  const advice = { explicitBucketBoundaries: BOUNDARIES_S }
  return meter.createHistogram(name, { ...optionsOf(name), advice })
}

export function gaugeOf(meter: Meter, name: string): Observable {
  return meter.createObservableGauge(name, optionsOf(name))
}

function optionsOf(name: string): MetricOptions {
  const { unit, description } = METRICS.find((metric) => metric.name === name) ?? {}
  if (unit === undefined || description === undefined) throw new TypeError(`no metric ${name}`)
  return { unit, description }
}

type Describe = (
  name: string,
  unit: string,
  description: string,
  attributes: readonly string[],
) => MetricDescription

function counter(
  ...[name, unit, description, attributes]: Parameters<Describe>
): MetricDescription {
  return { name, kind: 'counter', unit, description, attributes }
}

function histogram(
  ...[name, unit, description, attributes]: Parameters<Describe>
): MetricDescription {
  return { name, kind: 'histogram', unit, description, attributes }
}

function gauge(...[name, unit, description, attributes]: Parameters<Describe>): MetricDescription {
  return { name, kind: 'gauge', unit, description, attributes }
}
