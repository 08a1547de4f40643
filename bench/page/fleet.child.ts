import {
  MeterProvider,
  PeriodicExportingMetricReader,
  InMemoryMetricExporter,
  AggregationTemporality,
} from '@opentelemetry/sdk-metrics'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import type { LeaseGroup, LeaseStore } from '@tidemark/contracts'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { instrumentHost, metricViews, openTelemetry } from '@tidemark/otel'
import { ChangeFeedProcessorHost, type ChangeFeedProcessorHostOptions } from '@tidemark/processor'
import { Redis } from 'ioredis'
import type { OrderDocument } from '../data/order-document.ts'
import { serveParent } from '../measuring/child-process.ts'
import { DATABASE, openStoreIn } from '../store/open-bench-store.ts'

export type FleetVariant = 'plain' | 'withoutNotes' | 'telemetry'

export type FleetRequest =
  | {
      readonly kind: 'start'
      readonly folder: string
      readonly redisUrl: string
      readonly hosts: number
      readonly leasesPerRange: number
      readonly variant: FleetVariant
    }
  | { readonly kind: 'held' }

/** Number of leases that are worked on. */
export type FleetReply = number

type Host = ChangeFeedProcessorHost<OrderDocument>

const METRICS_EVERY_MS = 5_000
const hosts: Host[] = []

async function start(request: Extract<FleetRequest, { kind: 'start' }>): Promise<void> {
  const store = await openStoreIn(request.folder)
  const feed = store.database(DATABASE).collection<OrderDocument>('orders')
  const telemetry = request.variant === 'telemetry' ? startTelemetry() : undefined
  for (let index = 0; index < request.hosts; index += 1) {
    const redis = new Redis(request.redisUrl, { maxRetriesPerRequest: null })
    const onRedis = new RedisLeaseStore(redis, { allowVolatile: true })
    const host = new ChangeFeedProcessorHost<OrderDocument>({
      hostName: `host-${String(index).padStart(2, '0')}`,
      group: 'fleet',
      feed,
      leases: request.variant === 'withoutNotes' ? withoutNotes(onRedis) : onRedis,
      feedOptions: { leasesPerRange: request.leasesPerRange },
      logger: false,
      ...telemetry?.options,
    })
    telemetry?.instrument(host)
    hosts.push(host)
  }
  await Promise.all(hosts.map((host) => host.registerObserver(() => {})))
}

/** An SDK that records spans and metrics, and sends them nowhere. */
function startTelemetry(): {
  readonly options: Pick<ChangeFeedProcessorHostOptions, 'telemetry'>
  readonly instrument: (host: Host) => void
} {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: METRICS_EVERY_MS,
  })
  const meter = new MeterProvider({ readers: [reader], views: metricViews() }).getMeter('bench')
  const tracer = new TracerProvider({ spanProcessors: [] }).getTracer('bench')
  return {
    options: { telemetry: openTelemetry({ meter, tracer }) },
    instrument: (host) => void instrumentHost(host, { meter }),
  }
}

function withoutNotes(leases: LeaseStore): LeaseStore {
  return {
    description: leases.description,
    listGroups: (options) => leases.listGroups(options),
    openGroup: async (name, options) => {
      const opened = await leases.openGroup(name, options)
      return new Proxy<LeaseGroup>(opened, {
        get(target, property): unknown {
          if (property === 'note') return undefined
          const value: unknown = Reflect.get(target, property)
          return typeof value === 'function' ? (value.bind(target) as unknown) : value
        },
      })
    },
  }
}

function held(): number {
  return hosts.reduce((sum, host) => sum + host.health().leases.length, 0)
}

serveParent<FleetRequest, FleetReply>(async (request) => {
  if (request.kind === 'start') await start(request)
  return held()
})
