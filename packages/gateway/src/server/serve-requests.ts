import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorCode } from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionWhole,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import {
  listenRules,
  MAX_TIMER_MS,
  openListener,
  type ListenOptions,
} from '../platform/listener.ts'
import { RequestLives } from '../platform/request-life.ts'
import { sendResponse, webRequest } from '../platform/web-exchange.ts'
import { ClientGoneError } from '../errors/client-gone-error.ts'
import { GatewayStoppingError } from '../errors/gateway-stopping-error.ts'
import { isEventStream, originOf, unlessAborted } from './request-server.ts'
import { assertEncrypted } from './start-gateway.ts'

export interface ServeRequestsOptions extends Omit<ListenOptions, 'onUpgrade'> {
  /** What answers. A response with the status 401 leaves its client a stranger, whose connection may be closed for another's. */
  readonly answer: (request: Request) => Promise<Response>
  /** Allows plain http on another address than loopback. @default false */
  readonly insecureHttp?: boolean | undefined
  /** Gets what `answer` throws: its client gets 500 without a word of it. @default nobody */
  readonly onFailure?: ((error: unknown) => void) | undefined
  /**
   * How long `stop()` waits for what is being served, in ms. Streams of events end at once.
   * @range 0 to 2_147_483_647 @default 10_000
   */
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
  stopTimeoutMs: optionWhole(0, MAX_TIMER_MS),
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
    await exchange(incoming, outgoing, {
      answer,
      onFailure,
      signal: life.signal,
      onAnswer: (response) => {
        if (response.status !== 401) onAuthorized(undefined)
        if (isEventStream(response)) life.last()
        if (idle !== undefined) outgoing.setHeader('connection', 'close')
      },
    })
    life.end()
    if (lives.count === 0) idle?.resolve()
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

/**
 * A handler of the web platform as one of Node's HTTP server, for frameworks that are made of those. It answers whatever its
 * handler answers; what that throws is 500. The body must not have been read before.
 */
export function nodeHandler(
  answer: (request: Request) => Promise<Response>,
  { onFailure }: Pick<ServeRequestsOptions, 'onFailure'> = {},
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  return (incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort(new ClientGoneError('the client is gone')))
    void exchange(incoming, outgoing, { answer, onFailure, signal: gone.signal })
  }
}

interface Exchange extends Pick<ServeRequestsOptions, 'answer' | 'onFailure'> {
  readonly signal: AbortSignal
  /** Before it is sent. */
  readonly onAnswer?: (response: Response) => void
}

/** Never rejects. */
async function exchange(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { answer, onFailure, signal, onAnswer }: Exchange,
): Promise<void> {
  try {
    const origin = originOf(incoming)
    const request = webRequest(incoming, { origin, maxBytes: MOST_BODY_BYTES, signal })
    const response = await unlessAborted(answer(request), signal)
    onAnswer?.(response)
    await sendResponse(outgoing, response, signal)
  } catch (error) {
    const isBad = errorCode(error) === 'ERR_BAD_REQUEST'
    if (!isBad && !signal.aborted) report(error, onFailure)
    if (outgoing.headersSent) outgoing.destroy()
    else outgoing.writeHead(isBad ? 400 : 500, { connection: 'close' }).end()
  }
}

function report(error: unknown, onFailure: ServeRequestsOptions['onFailure']): void {
  try {
    onFailure?.(error)
  } catch {
    // A log that fails must not end the process.
  }
}
