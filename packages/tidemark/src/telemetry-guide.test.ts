import { readFile } from 'node:fs/promises'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import {
  instrumentGroups,
  instrumentHost,
  instrumentProcess,
  METRICS,
  metricViews,
  openTelemetry,
  prometheusName,
} from '@tidemark/otel'
import { freePort } from '@tidemark/testing/servers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  ChangeFeedEstimator,
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  openStore,
  type Change,
  type Collection,
  type IChangeFeedObserver,
  type ObserverContext,
  type Store,
} from './index.ts'

/* The snippets of docs/guide/telemetry.md, word for word but for imports; the last test finds each of them here. */

interface Order {
  readonly id: string
  readonly customerId: string
}

let seen = 0

class Mirror implements IChangeFeedObserver<Order> {
  processChanges(_context: ObserverContext, changes: readonly Change<Order>[]): void {
    seen += changes.length
  }
}

let store: Store
let orders: Collection<Order>
let leases: DocumentLeaseStore

beforeEach(async () => {
  seen = 0
  store = await openStore({ folder: ':memory:', maintenance: 'manual' })
  const shop = store.database('shop')
  orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customerId',
  })
  leases = new DocumentLeaseStore(
    await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' }),
  )
})
afterEach(async () => {
  await store.close()
  delete process.env['METRICS_PORT']
})

async function write(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await orders.upsert({ id: `o${n}`, customerId: `c${n}` })
}

test('telemetry.md: a worker with what the program has for OpenTelemetry', async () => {
  const worker = new ChangeFeedProcessorHost<Order>({
    group: 'mirror',
    feed: orders,
    leases,
    telemetry: openTelemetry({ traceContextOf: 'traceparent' }),
  })
  instrumentHost(worker) // until what it returns is disposed
  const lag = new ChangeFeedEstimator({ feed: orders, leases, group: 'mirror' })
  instrumentGroups(async () => [await lag.estimate()])
  await worker.registerObserver(Mirror)
  await write(5)
  await lag.untilCaughtUp({ timeoutMs: 60_000 })
  await worker.unregisterObservers()
  // There is no SDK, and nothing is different.
  expect(seen).toBe(5)
})

test('telemetry.md: /metrics in a worker', async () => {
  process.env['METRICS_PORT'] = String(await freePort())
  const port = Number(process.env['METRICS_PORT'] ?? 9464)
  const exporter = new PrometheusExporter({ host: '0.0.0.0', port }) // GET /metrics
  const provider = new MeterProvider({ readers: [exporter], views: metricViews() })
  const meter = provider.getMeter('worker')
  instrumentProcess({ meter })
  const observed = new ChangeFeedProcessorHost<Order>({
    group: 'mirror',
    feed: orders,
    leases,
    telemetry: openTelemetry({ meter }),
  })
  instrumentHost(observed, { meter })
  await observed.registerObserver(Mirror)
  await write(5)
  const lag = new ChangeFeedEstimator({ feed: orders, leases, group: 'mirror' })
  await lag.untilCaughtUp({ timeoutMs: 60_000 })
  await exporter.startServer()
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  await observed.unregisterObservers()
  await provider.shutdown()
  const described = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name)
  const known = METRICS.map((metric) => prometheusName(metric))
  expect([...known, 'target_info']).toEqual(expect.arrayContaining(described))
  expect(described).toEqual(
    expect.arrayContaining(['messaging_process_duration_seconds', 'tidemark_host_leases']),
  )
  expect(text).toMatch(/^messaging_client_consumed_messages_total\{.*\} 5$/m)
})

test('every snippet of telemetry.md is in this file', async () => {
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'))
  const guide = new URL('../../../docs/guide/telemetry.md', import.meta.url)
  const text = await readFile(guide, 'utf8')
  const snippets = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, snippet = '']) =>
    snippet.replaceAll(/^(?:import .*|\/\/ At the end.*)$/gm, ''),
  )
  expect(snippets).toHaveLength(2)
  for (const snippet of snippets) expect(here).toContain(squeezed(snippet))
})

/** Without what a formatter may change. */
function squeezed(code: string): string {
  return code.replaceAll(/\s+/g, '').replaceAll(/,(?=[)\]}])/g, '')
}
