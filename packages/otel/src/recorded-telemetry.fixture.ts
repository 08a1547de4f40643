import { AsyncLocalStorage } from 'node:async_hooks'
import {
  context,
  ROOT_CONTEXT,
  type Attributes,
  type Context,
  type ContextManager,
} from '@opentelemetry/api'
import { MeterProvider, MetricReader, type MetricData } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { MetricDescription } from './metrics.ts'

/** A tracer and a meter of the SDK, and what they were told. */
export class RecordedTelemetry {
  readonly #spans = new InMemorySpanExporter()
  readonly #reader = new TestReader()
  readonly tracer: ReturnType<TracerProvider['getTracer']>
  readonly meter: ReturnType<MeterProvider['getMeter']>

  constructor() {
    const spanProcessors = [new SimpleSpanProcessor({ exporter: this.#spans })]
    this.tracer = new TracerProvider({ spanProcessors }).getTracer('test')
    this.meter = new MeterProvider({ readers: [this.#reader] }).getMeter('test')
  }

  get spans(): ReturnType<InMemorySpanExporter['getFinishedSpans']> {
    return this.#spans.getFinishedSpans()
  }

  /** With the errors of what was read for them. */
  async collect(): Promise<{ readonly metrics: MetricData[]; readonly errors: unknown[] }> {
    const { resourceMetrics, errors } = await this.#reader.collect()
    return { metrics: resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics), errors }
  }

  /** Series of a metric: its attributes and its value; of a histogram, their number. */
  async series(name: MetricDescription['name']): Promise<[Attributes, number][]> {
    const { metrics, errors } = await this.collect()
    if (errors.length > 0) throw new AggregateError(errors)
    const metric = metrics.find(({ descriptor }) => descriptor.name === name)
    return (metric?.dataPoints ?? []).map(({ attributes, value }) => [
      attributes,
      typeof value === 'number' ? value : value.count,
    ])
  }
}

class TestReader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve()
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve()
  }
}

/** Contexts that follow asynchronous calls, as those of an SDK for Node do. Global while it is in use. */
export function useContexts(): Disposable {
  const storage = new AsyncLocalStorage<Context>()
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (given, act, self, ...args) => storage.run(given, () => act.apply(self as never, args)),
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  }
  context.setGlobalContextManager(manager)
  return { [Symbol.dispose]: () => context.disable() }
}
