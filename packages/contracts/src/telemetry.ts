import type { Change } from './feed/change.ts'

/** What carries a trace context: a change, or a message with its application properties. */
export type TelemetryItem = Change | TracedMessage

/** A message that carries the context of a trace. */
export interface TracedMessage {
  readonly applicationProperties?: Readonly<Record<string, unknown>> | undefined
}

/** A call that is worth a span. Its texts are of low cardinality: never an id of a document, a message or a session. */
export interface TelemetryCall {
  readonly type: 'send' | 'receive' | 'process' | 'settle'
  /** What is done, such as `process`, `schedule`, `complete`. */
  readonly name: string
  /** Name of the queue or topic, or the feed's `description`. */
  readonly destination: string
  /** Of the topic that is the destination. */
  readonly subscription?: string | undefined
  /** Processor group. */
  readonly group?: string | undefined
  /** Name of the host. */
  readonly client?: string | undefined
  /** Id of the lease, which is a range of keys. */
  readonly partition?: string | undefined
  /** Number of changes or messages; 0 for a call that receives, which tells `onReceived`. */
  readonly count: number
  /** What is sent or processed. */
  readonly items?: readonly TelemetryItem[] | undefined
}

/**
 * Where hosts, senders and receivers tell of what they do. `@tidemark/otel` makes one of OpenTelemetry's API. Events and
 * `health()` tell the rest: this is for what has to happen around a call.
 */
export interface Telemetry {
  /** Calls `act` once, and settles when it has. An error of its own is dropped: see `observedCall`. */
  observe<Result>(
    call: TelemetryCall,
    act: (onReceived: (items: readonly TelemetryItem[]) => void) => Promise<Result>,
  ): Promise<Result>
  /** Application properties for a message that is sent now: the present trace context. An error is dropped. */
  messageProperties(message: TracedMessage): Readonly<Record<string, string>> | undefined
}

/**
 * Makes a call as `telemetry` observes it. The call is made once and settles as `act` does, whatever the telemetry does:
 * observers, senders and receivers do not fail because nobody can be told.
 */
export async function observedCall<Result>(
  telemetry: Telemetry,
  call: TelemetryCall,
  act: (onReceived: (items: readonly TelemetryItem[]) => void) => Promise<Result>,
): Promise<Result> {
  let made: Promise<Result> | undefined
  try {
    await telemetry.observe(call, (onReceived) => (made ??= makeCall(act, onReceived)))
  } catch {
    // Its own error, or that of the call.
  }
  return made ?? act(() => {})
}

/** Never throws, and does not end early because those who listen fail. */
async function makeCall<Result>(
  act: (onReceived: (items: readonly TelemetryItem[]) => void) => Promise<Result>,
  onReceived: (items: readonly TelemetryItem[]) => void,
): Promise<Result> {
  return act((items) => {
    try {
      onReceived(items)
    } catch {
      // The items were received all the same.
    }
  })
}
