import { ATTRIBUTE } from './attributes.ts'
import { meterOf, type InstrumentOptions } from './instruments.ts'
import { histogramOf } from './metrics.ts'

/** What is needed of a request that a gateway has served. */
export interface RecordedRequest {
  readonly method: string
  /** 0: the client went away before it was answered. */
  readonly status: number
  readonly durationMs: number
}

const METHODS: ReadonlySet<string> = new Set([
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
])

/** The `onRequest` of a gateway: counts requests by method and status. */
export function instrumentRequests(
  options: InstrumentOptions = {},
): (request: RecordedRequest) => void {
  const durations = histogramOf(meterOf(options), 'http.server.request.duration')
  return ({ method, status, durationMs }) =>
    durations.record(durationMs / 1000, {
      // Clients invent methods.
      [ATTRIBUTE.method]: METHODS.has(method) ? method : '_OTHER',
      ...(status !== 0 && { [ATTRIBUTE.status]: status }),
    })
}
