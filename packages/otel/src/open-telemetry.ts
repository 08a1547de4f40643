import {
  context,
  metrics,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Counter,
  type Histogram,
  type Meter,
  type Tracer,
} from '@opentelemetry/api'
import {
  systemClock,
  type Clock,
  type Telemetry,
  type TelemetryCall,
  type TelemetryItem,
  type TracedMessage,
} from '@tidemark/contracts'
import { checkOptions, option, optionHaving, optionRule } from '@tidemark/contracts/internal'
import { ATTRIBUTE, SYSTEM } from './attributes.ts'
import { errorTypeOf } from './error-type.ts'
import { counterOf, histogramOf } from './metrics.ts'
import { activeProperties, linksTo, type TraceContextOf } from './trace-context.ts'

/** Name of the tracer and of the meter. */
export const SCOPE = '@tidemark/otel'

export interface OpenTelemetryOptions {
  /** What spans are made with. @default the global provider's */
  readonly tracer?: Tracer | undefined
  /** What the instruments are made with. @default the global provider's */
  readonly meter?: Meter | undefined
  /**
   * Where the `traceparent` of whoever wrote a document is: the name of a property, or a function. `process` spans link to it.
   * Documents are parsed for that, before the observer gets them. @default documents have none
   */
  readonly traceContextOf?: TraceContextOf | undefined
  /** Messages are sent with the present trace context as application properties, unless they have one. @default true */
  readonly writeTraceContext?: boolean | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
}

/**
 * The `telemetry` of hosts and brokers: spans and metrics by OpenTelemetry's conventions for messaging. Errors are told by
 * their code or class: their messages may hold ids.
 *
 * @throws ERR_INVALID_OPTION
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  checkOptions(options, {
    tracer: optionHaving('a tracer', 'startSpan'),
    meter: optionHaving('a meter', 'createCounter'),
    traceContextOf: optionRule(
      'the name of a property, or a function',
      (value) => typeof value === 'string' || typeof value === 'function',
    ),
    writeTraceContext: option.flag,
    clock: option.clock,
  })
  return new OpenTelemetry(options)
}

const KINDS: Readonly<Record<TelemetryCall['type'], SpanKind>> = {
  // Its context is what messages are sent with, unless they have one.
  send: SpanKind.PRODUCER,
  receive: SpanKind.CLIENT,
  process: SpanKind.CONSUMER,
  settle: SpanKind.CLIENT,
}

class OpenTelemetry implements Telemetry {
  readonly #tracer: Tracer
  readonly #clock: Clock
  readonly #traceContextOf: TraceContextOf | undefined
  readonly #writes: boolean
  readonly #sent: Counter
  readonly #consumed: Counter
  readonly #operation: Histogram
  readonly #processing: Histogram

  constructor(options: OpenTelemetryOptions) {
    const { tracer = trace.getTracer(SCOPE), meter = metrics.getMeter(SCOPE) } = options
    this.#tracer = tracer
    this.#clock = options.clock ?? systemClock
    this.#traceContextOf = options.traceContextOf
    this.#writes = options.writeTraceContext ?? true
    this.#sent = counterOf(meter, 'messaging.client.sent.messages')
    this.#consumed = counterOf(meter, 'messaging.client.consumed.messages')
    this.#operation = histogramOf(meter, 'messaging.client.operation.duration')
    this.#processing = histogramOf(meter, 'messaging.process.duration')
  }

  async observe<Result>(
    call: TelemetryCall,
    act: (onReceived: (items: readonly TelemetryItem[]) => void) => Promise<Result>,
  ): Promise<Result> {
    const { type, name, items = [] } = call
    const attributes = attributesOf(call)
    const span = this.#tracer.startSpan(`${name} ${placeOf(call)}`, {
      kind: KINDS[type],
      attributes: { ...attributes, ...spanAttributesOf(call) },
      links: linksTo(items, this.#traceContextOf),
    })
    let { count } = call
    const onReceived = (received: readonly TelemetryItem[]): void => {
      count = received.length
      span.addLinks(linksTo(received, this.#traceContextOf))
    }
    const startedMs = this.#clock.monotonicMs()
    let failure: Attributes = {}
    try {
      return await context.with(trace.setSpan(context.active(), span), act, undefined, onReceived)
    } catch (error) {
      failure = { [ATTRIBUTE.errorType]: errorTypeOf(error) }
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    } finally {
      span.setAttributes(failure)
      if (takesSeveral(call)) span.setAttribute(ATTRIBUTE.batchCount, count)
      span.end()
      const seconds = (this.#clock.monotonicMs() - startedMs) / 1000
      this.#record(call, { count, seconds, attributes: { ...attributes, ...failure } })
    }
  }

  messageProperties(message: TracedMessage): Readonly<Record<string, string>> | undefined {
    return this.#writes ? activeProperties(message) : undefined
  }

  #record(
    { type, name }: TelemetryCall,
    {
      count,
      seconds,
      attributes,
    }: { readonly count: number; readonly seconds: number; readonly attributes: Attributes },
  ): void {
    // A cancelled message is not sent.
    if (type === 'send' && name !== 'cancel') this.#sent.add(count, attributes)
    // Each delivery once: what a handler or an observer gets, nobody has received before.
    if ((type === 'receive' || type === 'process') && count > 0) {
      this.#consumed.add(count, attributes)
    }
    if (type === 'process') this.#processing.record(seconds, attributes)
    else this.#operation.record(seconds, { ...attributes, [ATTRIBUTE.operationType]: type })
  }
}

function placeOf({ destination, subscription }: TelemetryCall): string {
  return subscription === undefined ? destination : `${destination}/${subscription}`
}

/** Handlers get one message at a time, and one is settled. */
function takesSeveral({ type, group }: TelemetryCall): boolean {
  return type === 'send' || type === 'receive' || group !== undefined
}

/** Of metrics, too. */
function attributesOf({ name, destination, subscription, group }: TelemetryCall): Attributes {
  return {
    [ATTRIBUTE.system]: SYSTEM,
    [ATTRIBUTE.operationName]: name,
    [ATTRIBUTE.destination]: destination,
    ...(subscription !== undefined && { [ATTRIBUTE.subscription]: subscription }),
    ...(group !== undefined && { [ATTRIBUTE.group]: group }),
  }
}

/** Of spans only: there would be too many series of metrics. */
function spanAttributesOf({ type, partition, client }: TelemetryCall): Attributes {
  return {
    [ATTRIBUTE.operationType]: type,
    ...(partition !== undefined && { [ATTRIBUTE.partition]: partition }),
    ...(client !== undefined && { [ATTRIBUTE.client]: client }),
  }
}
