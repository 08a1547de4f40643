import {
  context,
  createTraceState,
  isSpanContextValid,
  trace,
  type Link,
  type SpanContext,
} from '@opentelemetry/api'
import type { Change, TelemetryItem, TracedMessage } from '@tidemark/contracts'

/** Gives the `traceparent` that was stored with a document: the name of a property, or a function. */
export type TraceContextOf = string | ((change: Change) => string | undefined)

/** Application properties with a trace context: of W3C, and of older clients of Service Bus. */
const PROPERTIES = ['traceparent', 'Diagnostic-Id']

/** A batch of thousands of documents may have been written by as many traces. */
export const MAX_LINKS = 128

/** To the spans that wrote these, each once. */
export function linksTo(
  items: readonly TelemetryItem[],
  traceContextOf: TraceContextOf | undefined,
): Link[] {
  const links = new Map<string, Link>()
  for (const item of items) {
    if (links.size === MAX_LINKS) break
    const found = spanContextOf(item, traceContextOf)
    if (found !== undefined) links.set(`${found.traceId}-${found.spanId}`, { context: found })
  }
  return [...links.values()]
}

/** The span that is active now, for a message that carries none. */
export function activeProperties({
  applicationProperties = {},
}: TracedMessage): Readonly<Record<string, string>> | undefined {
  const active = trace.getSpanContext(context.active())
  if (active === undefined || !isSpanContextValid(active)) return undefined
  if (PROPERTIES.some((name) => Object.hasOwn(applicationProperties, name))) return undefined
  const { traceId, spanId, traceFlags, traceState } = active
  const flags = traceFlags.toString(16).padStart(2, '0')
  const tracestate = traceState?.serialize() ?? ''
  return {
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    ...(tracestate !== '' && { tracestate }),
  }
}

function spanContextOf(
  item: TelemetryItem,
  traceContextOf: TraceContextOf | undefined,
): SpanContext | undefined {
  if (!('kind' in item)) return messageContext(item)
  if (traceContextOf === undefined) return undefined
  try {
    return parseTraceparent(
      typeof traceContextOf === 'string'
        ? Reflect.get(documentOf(item) ?? {}, traceContextOf)
        : traceContextOf(item),
    )
  } catch {
    // A damaged document is the feed's matter, and what the function throws nobody's.
    return undefined
  }
}

function messageContext({ applicationProperties = {} }: TracedMessage): SpanContext | undefined {
  for (const name of PROPERTIES) {
    const found = parseTraceparent(applicationProperties[name])
    if (found === undefined) continue
    const { tracestate } = applicationProperties
    if (typeof tracestate !== 'string') return found
    return { ...found, traceState: createTraceState(tracestate) }
  }
  return undefined
}

function documentOf(change: Change): object | undefined {
  switch (change.kind) {
    case 'document':
      return change.document
    case 'pendingDelete':
      return change.lastVersion
    case 'version':
      return change.current ?? change.previous
  }
}

/** Of version 00, and of later ones that begin like it. */
function parseTraceparent(value: unknown): SpanContext | undefined {
  if (typeof value !== 'string') return undefined
  const parts = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:$|-)/.exec(value)
  if (parts === null) return undefined
  const [, traceId = '', spanId = '', flags = ''] = parts
  const found = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return isSpanContextValid(found) ? found : undefined
}
