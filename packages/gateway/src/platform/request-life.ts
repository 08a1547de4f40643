import type { ServerResponse } from 'node:http'
import { ClientGoneError } from '../errors/client-gone-error.ts'
import { RequestTimeoutError } from '../errors/request-timeout-error.ts'

/** How long a request is worth serving. */
export interface RequestLife {
  /** Aborted with ERR_CLIENT_GONE, ERR_REQUEST_TIMEOUT, or the reason of `stop`. */
  readonly signal: AbortSignal
  /** Frees the timer and the listeners. */
  end(): void
}

/** Follows a request until its client leaves, its time is over, or everything stops. */
export function requestLife(
  outgoing: ServerResponse,
  { timeoutMs, stop }: { readonly timeoutMs: number; readonly stop: AbortSignal },
): RequestLife {
  const controller = new AbortController()
  const onTimeout = (): void => {
    controller.abort(new RequestTimeoutError(`the request was not served within ${timeoutMs} ms`))
  }
  const onClose = (): void => {
    if (!outgoing.writableFinished) controller.abort(new ClientGoneError('the client is gone'))
  }
  const onStop = (): void => controller.abort(stop.reason)
  const timer = setTimeout(onTimeout, timeoutMs)
  outgoing.once('close', onClose)
  stop.addEventListener('abort', onStop, { once: true })
  if (stop.aborted) onStop()
  return {
    signal: controller.signal,
    end: () => {
      clearTimeout(timer)
      outgoing.off('close', onClose)
      stop.removeEventListener('abort', onStop)
    },
  }
}
