import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { errorCode, type Clock } from '@tidemark/contracts'
import type { MessageBroker } from '@tidemark/messaging'
import {
  instrumentExpiry,
  instrumentGroups,
  instrumentProcess,
  instrumentQueues,
  instrumentRequests,
  instrumentStore,
  metricViews,
  type CollectionExpiry,
  type RecordedRequest,
} from '@tidemark/otel'
import { ChangeFeedEstimator, type FeedEstimate } from '@tidemark/processor'
import type { Store } from '@tidemark/store'
import { Groups } from '../../dashboard/sources/groups.ts'
import type { OpenedLeases } from '../lease-location.ts'
import { errorLine } from '../output/report-error.ts'

/** What metrics are made of. */
export interface MeteredServer {
  readonly store: Store
  /** Beside collections named "leases". Closed at the end. @default none */
  readonly leases?: OpenedLeases | undefined
  /** Of queues that are served. */
  readonly broker: MessageBroker | undefined
  readonly clock: Clock
  /** Told of what could not be read, once until it can be read again or fails otherwise. */
  readonly onFailure: (error: unknown, place: string) => void
}

/** Groups whose lag is measured, in the order of their places and names. */
const MOST_GROUPS = 100
/** Collections with a time to live whose pending deletes are counted. */
const MOST_COLLECTIONS = 100
/** What takes longer is left out of the answer. Prometheus waits for 10 s, by default. */
const LIMIT_MS = 8_000

/** The metrics of a server, as Prometheus reads them. */
export class ServedMetrics {
  readonly #server: MeteredServer
  readonly #groups: Groups
  /** Only reads: nothing listens. */
  readonly #exporter = new PrometheusExporter({ preventServerStart: true })
  readonly #serializer = new PrometheusSerializer('', false, undefined, true, true)
  readonly #provider = new MeterProvider({ readers: [this.#exporter], views: metricViews() })
  readonly #instruments: readonly Disposable[]
  readonly #failing = new Map<string, string>()
  readonly record: (request: RecordedRequest) => void

  constructor(server: MeteredServer) {
    const { store, leases, broker, clock } = server
    this.#server = server
    this.#groups = new Groups(store, leases?.store, clock)
    const meter = this.#provider.getMeter('tidemark')
    const options = { meter, clock }
    this.#instruments = [
      instrumentProcess(options),
      instrumentStore(store, options),
      instrumentExpiry(() => this.#expiries(), options),
      instrumentGroups(() => this.#estimates(), options),
      ...(broker === undefined ? [] : [instrumentQueues(broker, options)]),
    ]
    this.record = instrumentRequests(options)
  }

  async text(): Promise<string> {
    const { resourceMetrics, errors } = await this.#exporter.collect({ timeoutMillis: LIMIT_MS })
    this.#tell('/metrics', errors[0])
    return this.#serializer.serialize(resourceMetrics)
  }

  async close(): Promise<void> {
    for (const instrument of this.#instruments) instrument[Symbol.dispose]()
    await this.#provider.shutdown()
    await this.#groups.close()
    await this.#server.leases?.[Symbol.asyncDispose]()
  }

  async #estimates(): Promise<readonly FeedEstimate[]> {
    const { groups } = await this.#groups.list()
    const estimates: FeedEstimate[] = []
    for (const ref of groups.slice(0, MOST_GROUPS)) {
      const place = `/metrics, group ${ref.group} of ${ref.leases}`
      try {
        const { leases, followed } = await this.#groups.read(ref)
        // Its feed is elsewhere.
        if (followed === undefined) continue
        const options = { feed: followed.collection, leases, group: ref.group }
        await using estimator = new ChangeFeedEstimator({ ...options, clock: this.#server.clock })
        estimates.push(await estimator.estimate())
        this.#tell(place, undefined)
      } catch (error) {
        // Of the others there is a lag nevertheless.
        this.#tell(place, error)
      }
    }
    return estimates
  }

  async #expiries(): Promise<readonly CollectionExpiry[]> {
    const { store } = this.#server
    const expiring = (await store.listCollections()).filter(
      ({ record }) => record.definition.defaultTtl !== null,
    )
    const views: CollectionExpiry[] = []
    for (const { databaseId, record } of expiring.slice(0, MOST_COLLECTIONS)) {
      const collection = store.database(databaseId).collection(record.id)
      try {
        const view = await collection.readExpiry({ withinSeconds: [] })
        views.push({ databaseId, collectionId: record.id, ...view })
      } catch (error) {
        // It was deleted meanwhile.
        if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
      }
    }
    return views
  }

  #tell(place: string, error: unknown): void {
    if (error === undefined) {
      this.#failing.delete(place)
      return
    }
    const line = errorLine(error)
    if (this.#failing.get(place) === line) return
    this.#failing.set(place, line)
    this.#server.onFailure(error, place)
  }
}
