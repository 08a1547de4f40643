import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { json } from 'node:stream/consumers'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { openMessaging } from '@tidemark/messaging'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { instrumentHost, openTelemetry } from '@tidemark/otel'

/** What a collector gets, as OTLP in JSON has it. */
interface Value {
  readonly stringValue?: string
  readonly intValue?: number
}
interface Attribute {
  readonly key: string
  readonly value: Value
}
interface OtlpSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly attributes: readonly Attribute[]
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
}
interface OtlpMetric {
  readonly name: string
  readonly unit: string
  readonly sum?: { readonly dataPoints: readonly OtlpPoint[]; readonly isMonotonic: boolean }
  readonly gauge?: { readonly dataPoints: readonly OtlpPoint[] }
  readonly histogram?: {
    readonly dataPoints: readonly {
      readonly count: number
      readonly explicitBounds: readonly number[]
    }[]
  }
}
interface OtlpPoint {
  readonly attributes: readonly Attribute[]
  readonly asDouble?: number
  readonly asInt?: number
}
interface OtlpRequest {
  readonly resourceSpans?: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[]
  }[]
}

class Collector implements AsyncDisposable {
  readonly spans: OtlpSpan[] = []
  metrics: readonly OtlpMetric[] = []
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => {
      void json(request).then((body) => {
        this.#take(body as OtlpRequest)
        response.setHeader('content-type', 'application/json').end('{}')
      })
    })
  }

  static async start(): Promise<Collector> {
    const collector = new Collector()
    collector.#server.listen(0, '127.0.0.1')
    await once(collector.#server, 'listening')
    return collector
  }

  url(path: string): string {
    const address = this.#server.address()
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}${path}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }

  #take({ resourceSpans = [], resourceMetrics = [] }: OtlpRequest): void {
    for (const { scopeSpans } of resourceSpans) {
      for (const { spans } of scopeSpans) this.spans.push(...spans)
    }
    for (const { scopeMetrics } of resourceMetrics) {
      this.metrics = scopeMetrics.flatMap(({ metrics }) => metrics)
    }
  }
}

test('a collector gets spans with their links, and metrics with their units', async () => {
  await using collector = await Collector.start()
  const exporter = new OTLPTraceExporter({ url: collector.url('/v1/traces') })
  const traces = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: collector.url('/v1/metrics') }),
  })
  const measures = new MeterProvider({ readers: [reader] })
  const [tracer, meter] = [traces.getTracer('test'), measures.getMeter('test')]
  const telemetry = openTelemetry({ tracer, meter, traceContextOf: 'traceparent' })
  await using store = await openMemoryStore()
  const shop = await store.createDatabaseIfNotExists('shop')
  const orders = await shop.createCollectionIfNotExists<{ id: string; traceparent?: string }>({
    id: 'orders',
    partitionKey: '/id',
  })
  const leaseCollection = { id: 'leases', partitionKey: '/partitionKey' } as const
  const leases = new DocumentLeaseStore(await shop.createCollectionIfNotExists(leaseCollection))
  await using broker = openMessaging(shop, { telemetry })
  await broker.createQueue('tasks')

  const writer = tracer.startSpan('write')
  const { traceId, spanId } = writer.spanContext()
  await orders.upsert({ id: 'o1', traceparent: `00-${traceId}-${spanId}-01` })
  writer.end()
  const host = new ChangeFeedProcessorHost({
    group: 'mirror',
    feed: orders,
    leases,
    feedOptions: { startFromBeginning: true },
    telemetry,
    logger: false,
  })
  using _ = instrumentHost(host, { meter })
  await host.runUntilCaughtUp(async () => {
    await broker.createSender('tasks').sendMessages({ body: 1 })
  })
  await traces.forceFlush()
  await measures.forceFlush()

  const process = collector.spans.find(({ name }) => name === 'process shop/orders')
  // CONSUMER
  expect(process).toMatchObject({ kind: 5, links: [{ traceId, spanId }] })
  expect(process?.attributes).toContainEqual({
    key: 'messaging.consumer.group.name',
    value: { stringValue: 'mirror' },
  })
  expect(process?.attributes).toContainEqual({
    key: 'messaging.batch.message_count',
    value: { intValue: 1 },
  })
  expect(collector.spans.map(({ name }) => name)).toContain('send tasks')
  const byName = new Map(collector.metrics.map((metric) => [metric.name, metric]))
  expect(byName.get('messaging.process.duration')).toMatchObject({
    unit: 's',
    histogram: { dataPoints: [{ count: 1, explicitBounds: expect.arrayContaining([0.005, 10]) }] },
  })
  expect(byName.get('messaging.client.sent.messages')).toMatchObject({
    unit: '{message}',
    sum: { isMonotonic: true, dataPoints: [{ asDouble: 1 }] },
  })
  expect(byName.get('tidemark.lease.transitions')?.sum?.dataPoints).toHaveLength(2)
  expect(byName.get('tidemark.host.leases')?.gauge?.dataPoints.length).toBeGreaterThan(1)
  await traces.shutdown()
  await measures.shutdown()
})
