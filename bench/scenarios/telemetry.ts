import type { Telemetry } from '@tidemark/contracts'
import { openTelemetry } from '@tidemark/otel'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, TracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { median } from '../measuring/statistics.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { rateUnderHost } from '../observers/timed-host.ts'
import { BenchObserver } from '../store/drain.ts'
import { loadOrders } from '../store/load-orders.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

/** Small, so that what is paid for each batch shows. */
const PAGE = 100

/** The least that somebody who is told can do: what the core itself pays, and a host without telemetry saves. */
const passingOn: Telemetry = {
  observe: (_call, act) => act(() => {}),
  messageProperties: () => undefined,
}

/** Drains of batches of 100 documents by a host with telemetry, beside those of a host without. */
export const telemetry: Scenario = {
  name: 'telemetry',
  measures: [
    {
      name: 'telemetry.interface',
      unit: 'documents/s',
      rawIs: 'a host without telemetry; here one that only passes calls on',
      goal: { of: 'ratio', is: 'atLeast', limit: 0.99 },
    },
    {
      name: 'telemetry.withoutSdk',
      unit: 'documents/s',
      rawIs: 'a host without telemetry; here OpenTelemetry without an SDK',
    },
    {
      name: 'telemetry.withSdk',
      unit: 'documents/s',
      rawIs: 'a host without telemetry; here spans and metrics of the SDK',
    },
  ],
  async prepare({ folder, documents }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    await loadOrders(store, documents)
    const sdk = startSdk()
    const rate = (given: Telemetry | undefined): Promise<number> =>
      rateUnderHost({
        ...store,
        observer: new BenchObserver(() => {}),
        count: documents,
        maxItemCount: PAGE,
        telemetry: given,
      })
    const sides: readonly [string, Telemetry | undefined][] = [
      ['none', undefined],
      ['telemetry.interface', passingOn],
      ['telemetry.withoutSdk', openTelemetry()],
      ['telemetry.withSdk', sdk.telemetry],
    ]
    let none = Number.NaN
    return {
      // Drains in turns, begun by another side each time: one drain varies by more than what is looked for.
      async ours(seconds) {
        const rates = new Map(sides.map(([name]) => [name, new Array<number>()]))
        const untilMs = machineMs() + seconds * 1000 * sides.length
        for (let round = 0; round < sides.length || machineMs() < untilMs; round += 1) {
          const first = round % sides.length
          for (const [name, given] of [...sides.slice(first), ...sides.slice(0, first)]) {
            rates.get(name)?.push(await rate(given))
          }
        }
        const medians = [...rates].map(([name, all]) => [name, median(all)] as const)
        const { none: bare = Number.NaN, ...figures } = Object.fromEntries(medians)
        none = bare
        return figures
      },
      raw: async () => ({
        'telemetry.interface': none,
        'telemetry.withoutSdk': none,
        'telemetry.withSdk': none,
      }),
      async [Symbol.asyncDispose]() {
        await sdk.stop()
        await store.close()
      },
    }
  },
}

/** Spans are exported to nowhere. */
function startSdk(): { readonly telemetry: Telemetry; stop(): Promise<void> } {
  const exporter: SpanExporter = {
    export: (_spans, done) => done({ code: 0 }),
    shutdown: () => Promise.resolve(),
  }
  const traces = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
  const measures = new MeterProvider()
  const [tracer, meter] = [traces.getTracer('bench'), measures.getMeter('bench')]
  return {
    telemetry: openTelemetry({ tracer, meter }),
    async stop() {
      await traces.shutdown()
      await measures.shutdown()
    },
  }
}
