import { CodedError, errorCode } from '@tidemark/contracts'
import { describeError } from '@tidemark/contracts/internal'
import type { NodeBindings } from '../platform/node-bindings.ts'
import { rawPath } from '../protocol/resource-path.ts'
import type { ResolvedGatewayOptions } from './gateway-options.ts'

const MAX_SHOWN_PATH = 2000

/** A path for logs: what is neither printable nor ASCII is percent-encoded, as it should have been. */
export function shownPath(url: string): string {
  const path = `/${rawPath(url)}`.replace(
    /[^\x21-\x7e]/g,
    (unit) => `%${unit.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
  return path.length > MAX_SHOWN_PATH ? `${path.slice(0, MAX_SHOWN_PATH - 3)}...` : path
}

/** Notes when a request came. The result reports its outcome to `onRequest`; undefined without a listener. */
export function beginReport(
  { incoming }: NodeBindings,
  activityId: string,
  { clock, onRequest }: ResolvedGatewayOptions,
): ((outcome: { readonly status: number; readonly bytes: number }) => void) | undefined {
  if (onRequest === undefined) return undefined
  const [atMs, startedMs] = [clock.wallMs(), clock.monotonicMs()]
  const { method = '', url = '', socket } = incoming
  const address = socket.remoteAddress ?? ''
  return (outcome) => {
    const durationMs = clock.monotonicMs() - startedMs
    const path = shownPath(url)
    try {
      onRequest({ atMs, address, method, path, ...outcome, durationMs, activityId })
    } catch {
      // A log that fails must not end the request that it reports.
    }
  }
}

/** Reports a failure that is no fault of the client to the log and to `onFailure`. */
export function reportFailure(
  { incoming }: NodeBindings,
  { activityId, error }: { readonly activityId: string; readonly error: unknown },
  { onFailure, log }: ResolvedGatewayOptions,
): void {
  const code = errorCode(error)
  // A client that left is not worth reporting.
  if (code === 'ERR_CLIENT_GONE') return
  const { method = '', url = '' } = incoming
  const path = shownPath(url)
  log?.write({
    level: isRetryable(error) ? 'warn' : 'error',
    event: 'requestFailed',
    kind: code,
    message: `${describeError(error)} (${method} ${path}, activity ${activityId})`,
    fields: { activityId, method, path, ...(code !== undefined && { code }) },
  })
  try {
    onFailure({ activityId, method, path, error })
  } catch {
    // A log that fails must not end the request that it reports.
  }
}

function isRetryable(error: unknown): boolean {
  return error instanceof CodedError && error.retryable
}
