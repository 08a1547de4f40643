import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  checkOptions,
  errorCode,
  option,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts'
import { listenRules, openListener, type ListenOptions } from '../platform/listener.ts'
import { RequestLives } from '../platform/request-life.ts'
import { sendResponse, webRequest } from '../platform/web-exchange.ts'
import { GatewayStoppingError } from '../errors/gateway-stopping-error.ts'
import { aborted, isEventStream, originOf } from './request-server.ts'
import { assertEncrypted } from './start-gateway.ts'

export interface ServeRequestsOptions extends Omit<ListenOptions, 'onUpgrade'> {
  /** What answers. A response with the status 401 leaves its client a stranger, whose connection may be closed for another's. */
  readonly answer: (request: Request) => Promise<Response>
  /** Allows plain http on another address than loopback. @default false */
  readonly insecureHttp?: boolean | undefined
  /** Gets what `answer` throws: its client gets 500 without a word of it. @default nobody */
  readonly onFailure?: ((error: unknown) => void) | undefined
  /** How long `stop()` waits for what is being served, in ms. Streams of events end at once. @default 10_000 */
  readonly stopTimeoutMs?: number | undefined
}

/** A server that listens. */
export interface ServedRequests extends AsyncDisposable {
  /** `http://127.0.0.1:8082/`, for clients on this machine. */
  readonly endpoint: string
  /** Where the socket listens, as the system says it. */
  readonly address: string
  readonly port: number
  /** Idempotent. */
  stop(): Promise<void>
}

const RULES: OptionRules<ServeRequestsOptions> = {
  ...listenRules,
  answer: requiredOption(option.function),
  insecureHttp: option.flag,
  onFailure: option.function,
  stopTimeoutMs: option.number,
}

const REQUEST_TIMEOUT_MS = 100_000
const MOST_BODY_BYTES = 1024 * 1024
/** No client may take all connections. */
const CLIENT_SHARE = 0.5

/**
 * Serves a handler of the web platform with the gateway's listener: its limits, and its way to stop.
 *
 * Rejects with ERR_INVALID_OPTION, also for plain http without `insecureHttp` on another address than loopback, and with
 * ERR_ADDRESS_UNAVAILABLE.
 */
export async function serveRequests(options: ServeRequestsOptions): Promise<ServedRequests> {
  checkOptions(options, RULES)
  const { answer, insecureHttp, onFailure, stopTimeoutMs = 10_000, ...listening } = options
  const { host = '127.0.0.1', tls } = listening
  assertEncrypted(host, { tls, insecureHttp })
  const lives = new RequestLives(REQUEST_TIMEOUT_MS)
  let idle: PromiseWithResolvers<void> | undefined
  const serve = async (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { onAuthorized }: { readonly onAuthorized: (readOnlyKey: undefined) => void },
  ): Promise<void> => {
    const life = lives.begin(outgoing)
    const { signal } = life
    try {
      const origin = originOf(incoming)
      const request = webRequest(incoming, { origin, maxBytes: MOST_BODY_BYTES, signal })
      const response = await Promise.race([answer(request), aborted(signal)])
      if (response.status !== 401) onAuthorized(undefined)
      if (isEventStream(response)) life.last()
      if (idle !== undefined) outgoing.setHeader('connection', 'close')
      await sendResponse(outgoing, response, signal)
    } catch (error) {
      const isBad = errorCode(error) === 'ERR_BAD_REQUEST'
      if (!isBad && !signal.aborted) onFailure?.(error)
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(isBad ? 400 : 500, { connection: 'close' }).end()
    } finally {
      life.end()
      if (lives.count === 0) idle?.resolve()
    }
  }
  const listener = await openListener({ serve }, { ...listening, host, clientShare: CLIENT_SHARE })
  const stop = (): Promise<void> =>
    listener.close({
      drain: () => {
        idle = Promise.withResolvers()
        lives.endLasting(new GatewayStoppingError('the server stops'))
        if (lives.count === 0) idle.resolve()
        return idle.promise
      },
      abort: () => lives.endAll(new GatewayStoppingError('the server stops')),
      timeoutMs: stopTimeoutMs,
    })
  let stopping: Promise<void> | undefined
  const { endpoint, address, port } = listener
  const stopOnce = (): Promise<void> => (stopping ??= stop())
  return { endpoint, address, port, stop: stopOnce, [Symbol.asyncDispose]: stopOnce }
}
