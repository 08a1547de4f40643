import { BadRequestError } from '@tidemark/contracts'
import type { IncomingMessage } from 'node:http'
import type { Authorizer, Signer } from '../authorization/authorizer.ts'
import { GatewayStoppingError } from '../errors/gateway-stopping-error.ts'
import { clientAddress } from '../platform/client-address.ts'
import type { NodeBindings } from '../platform/node-bindings.ts'
import { isUnread, readBody } from '../platform/read-body.ts'
import { RequestLives, type RequestLife } from '../platform/request-life.ts'
import { sendAnswer } from '../platform/send-answer.ts'
import { sendResponse, webRequest } from '../platform/web-exchange.ts'
import { ActivityIds } from '../protocol/activity-ids.ts'
import type { Answer } from '../protocol/answer.ts'
import { checkConsistencyLevel } from '../protocol/consistency-level.ts'
import { errorAnswer } from '../protocol/error-answer.ts'
import { HEADER } from '../protocol/header-names.ts'
import { resourcePath } from '../protocol/resource-path.ts'
import { QueryBudget } from '../query/query-budget.ts'
import { QueryTurns } from '../query/query-turns.ts'
import type { GatewayContext, GatewayRequest, Operation } from '../requests/gateway-request.ts'
import { readsOnly, type Access } from '../requests/query-or.ts'
import { refuseDirectMode } from '../resources/unsupported.ts'
import { SharedLimit } from './shared-limit.ts'
import type { ResolvedGatewayOptions } from './gateway-options.ts'
import { beginReport, reportFailure } from './request-report.ts'
import { RequestPlace, type RequestLimits } from './request-place.ts'

/** What a client that met the limit of requests served at once waits, in ms. */
const BUSY_RETRY_MS = 50
/** Waits and large bodies take longer than other requests. */
const WAITING_RETRY_MS = 1000

/** What takes longer to parse waits for its turn. */
const LARGE_BODY_CHARS = 64 * 1024
/** Of parsing a body, for its turn among queries. */
const CHARS_PER_STEP = 8

/** A name or an address, perhaps with a port: answers repeat it. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/** Only clients of HTTP/1.0 say none. */
function hostOf({ headers }: IncomingMessage): string {
  return headers.host || 'localhost'
}

/** @throws ERR_BAD_REQUEST */
export function originOf(incoming: IncomingMessage): string {
  const isTls = 'encrypted' in incoming.socket && incoming.socket.encrypted === true
  const host = hostOf(incoming)
  if (!HOST.test(host)) throw new BadRequestError('the host header of the request is no address')
  return `${isTls ? 'https' : 'http'}://${host}`
}

function isStopping(error: unknown): boolean {
  return error instanceof GatewayStoppingError
}

type Beside = NonNullable<ResolvedGatewayOptions['beside']>

export function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true
}

/**
 * What a handler answers. Rejects with the signal's reason: what does not follow its signal must not hold the client. An answer that
 * comes too late is cancelled.
 */
export async function unlessAborted<Answered extends Response | undefined>(
  answering: Promise<Answered>,
  signal: AbortSignal,
): Promise<Answered> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const onAbort = (): void => {
    reject(signal.reason)
    answering.then(discard, () => {})
  }
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([answering, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Nobody will read its body: else a stream of events would go on for ever. */
function discard(response: Response | undefined): void {
  response?.body?.cancel().catch(() => {
    // Somebody reads it, and cancels it.
  })
}

function isRead(request: GatewayRequest, access: Access): boolean {
  return access === 'byHeaders' ? readsOnly(request) : access === 'read'
}

/** What a request asks for, and what its key needs for it. */
export interface ServedOperation {
  readonly operation: Operation
  readonly access: Access
}

/** Serves requests one by one: identity, limits, authorization, the operation, and always an answer. */
export class RequestServer {
  readonly #context: GatewayContext
  readonly #authorizer: Authorizer
  readonly #options: ResolvedGatewayOptions
  readonly #draining = new AbortController()
  readonly #lives: RequestLives
  readonly #activityIds: ActivityIds
  readonly #queryTurns: QueryTurns
  readonly #limits: RequestLimits
  #idle: PromiseWithResolvers<void> | undefined

  constructor(context: GatewayContext, authorizer: Authorizer, options: ResolvedGatewayOptions) {
    this.#context = context
    this.#authorizer = authorizer
    this.#options = options
    this.#lives = new RequestLives(options.requestTimeoutMs)
    this.#activityIds = new ActivityIds(options.random)
    this.#queryTurns = new QueryTurns(options.clock)
    const { maxConcurrentRequests, maxWaitingReads, maxClientShare: share } = options
    this.#limits = {
      served: new SharedLimit({
        most: maxConcurrentRequests,
        share,
        what: 'requests are being served',
        retryAfterMs: BUSY_RETRY_MS,
      }),
      waiting: new SharedLimit({
        most: maxWaitingReads,
        share,
        what: 'reads are waiting for changes',
        retryAfterMs: WAITING_RETRY_MS,
      }),
      heldChars: new SharedLimit({
        most: options.queryLimits.maxHeldChars,
        share,
        what: 'characters are held by requests (maxHeldChars)',
        retryAfterMs: WAITING_RETRY_MS,
      }),
    }
  }

  drain(): Promise<void> {
    this.#draining.abort()
    this.#lives.endLasting(new GatewayStoppingError('the gateway is stopping'))
    if (this.#lives.count === 0) return Promise.resolve()
    this.#idle ??= Promise.withResolvers<void>()
    return this.#idle.promise
  }

  abort(): void {
    this.#lives.endAll(new GatewayStoppingError('the gateway is stopping'))
  }

  /**
   * Never rejects: whatever fails is an answer, or the end of one connection.
   *
   * @param beside is asked first, before any signature
   */
  async serve(env: NodeBindings, served: ServedOperation, beside?: Beside): Promise<void> {
    const { outgoing } = env
    const activityId = this.#activityIds.next()
    const life = this.#lives.begin(outgoing)
    const place = new RequestPlace(this.#limits)
    const report = beginReport(env, activityId, this.#options)
    try {
      const other = beside && (await this.#serveBeside(beside, { env, activityId, life }))
      if (other !== undefined) {
        report?.(other)
        return
      }
      const answer = await this.#answer(env, { ...served, activityId, signal: life.signal, place })
      const bytes = await sendAnswer(outgoing, answer, {
        signal: life.signal,
        headers: this.#headersOf(answer, activityId),
      })
      report?.({ status: answer.status, bytes })
    } catch (error) {
      // A stream of events ends so when the gateway stops.
      if (!life.signal.aborted) reportFailure(env, { activityId, error }, this.#options)
      outgoing.destroy()
      report?.({ status: 0, bytes: 0 })
    } finally {
      place.leave()
      life.end()
      if (this.#lives.count === 0) this.#idle?.resolve()
    }
  }

  /** Undefined: it is not for `beside`. */
  async #serveBeside(
    beside: Beside,
    { env, activityId, life }: { env: NodeBindings; activityId: string; life: RequestLife },
  ): Promise<{ readonly status: number; readonly bytes: number } | undefined> {
    const { incoming, outgoing } = env
    const { signal } = life
    const place = new RequestPlace(this.#limits)
    let response: Response | undefined
    try {
      place.enter([clientAddress(incoming.socket.remoteAddress)])
      const maxBytes = this.#options.maxBodyBytes
      const request = webRequest(incoming, { origin: originOf(incoming), maxBytes, signal })
      const answered = await unlessAborted(beside(request), signal)
      if (answered === undefined) return undefined
      response = answered
      if (this.#draining.signal.aborted) outgoing.setHeader('connection', 'close')
      const { status } = answered
      const send = (): Promise<number> => sendResponse(outgoing, answered, signal)
      if (!isEventStream(answered)) return { status, bytes: await send() }
      life.last()
      return { status, bytes: await place.whileWaiting(send) }
    } catch (error) {
      discard(response)
      if (outgoing.headersSent) throw error
      const answer = this.#refusal(env, { error, activityId, signal })
      const headers = this.#headersOf(answer, activityId)
      return {
        status: answer.status,
        bytes: await sendAnswer(outgoing, answer, { signal, headers }),
      }
    } finally {
      place.leave()
    }
  }

  async #answer(
    env: NodeBindings,
    {
      operation,
      access,
      activityId,
      signal,
      place,
    }: ServedOperation & {
      readonly activityId: string
      readonly signal: AbortSignal
      readonly place: RequestPlace
    },
  ): Promise<Answer> {
    let isAuthorized = false
    try {
      const request = this.#request(env, { signal, place })
      refuseDirectMode(request.path)
      const { key, resourceLink } = this.#authorize(env.incoming, request, access)
      isAuthorized = true
      checkConsistencyLevel(request.header(HEADER.consistencyLevel))
      const readOnlyKey = key.access === 'readOnly' ? key : undefined
      env.onAuthorized?.(readOnlyKey)
      const address = clientAddress(env.incoming.socket.remoteAddress)
      place.enter(readOnlyKey === undefined ? [address] : [address, readOnlyKey])
      const path =
        resourceLink === request.path.ridLink
          ? await this.#context.rids.named(request.path)
          : request.path
      const answer = await operation({ ...request, path }, this.#context)
      let chars = 0
      for (const piece of answer.body ?? []) chars += piece.length
      if (isRead(request, access)) place.holdChars(chars)
      else place.holdCharsAnyway(chars)
      return answer
    } catch (error) {
      return this.#refusal(env, { error, activityId, signal, isKnown: isAuthorized })
    }
  }

  /** The connection of a client that is not known ends with it. */
  #refusal(
    env: NodeBindings,
    {
      error,
      activityId,
      signal,
      isKnown = false,
    }: {
      readonly error: unknown
      readonly activityId: string
      readonly signal: AbortSignal
      readonly isKnown?: boolean
    },
  ): Answer {
    const told: unknown = signal.aborted ? signal.reason : error
    const answer = errorAnswer(told, activityId)
    if (answer.status >= 500 && !isStopping(told))
      reportFailure(env, { activityId, error }, this.#options)
    if (isKnown && !isUnread(env.incoming)) return answer
    return { ...answer, headers: { ...answer.headers, connection: 'close' } }
  }

  #request(
    { incoming }: NodeBindings,
    { signal, place }: { readonly signal: AbortSignal; readonly place: RequestPlace },
  ): GatewayRequest {
    const { headers, method = 'GET', url = '/' } = incoming
    const header = (name: string): string | undefined => {
      const value = headers[name]
      const text = Array.isArray(value) ? value.join(',') : value
      return text === undefined || text === '' ? undefined : text
    }
    const { maxBodyBytes, queryLimits } = this.#options
    const turn = async (steps: number): Promise<void> => {
      await this.#queryTurns.take(steps)
      signal.throwIfAborted()
    }
    return {
      method,
      path: resourcePath(url),
      origin: originOf(incoming),
      signal,
      draining: this.#draining.signal,
      whileWaiting: (act) => place.whileWaiting(act),
      header,
      queryBudget: () =>
        new QueryBudget({
          limits: queryLimits,
          turns: this.#queryTurns,
          hold: (chars) => place.holdChars(chars),
          signal,
        }),
      turn,
      readBody: async () => {
        const hold = (bytes: number): unknown => place.holdChars(bytes)
        const body = await readBody(incoming, { maxBytes: maxBodyBytes, hold, signal })
        // Many may arrive at once: one is parsed between two turns of the event loop.
        if (body.length > LARGE_BODY_CHARS) await turn(body.length / CHARS_PER_STEP)
        return body
      },
    }
  }

  #authorize(incoming: IncomingMessage, request: GatewayRequest, access: Access): Signer {
    const { method, path, header } = request
    const { resourceType, resourceLink, ridLink } = path
    return this.#authorizer.check({
      host: hostOf(incoming),
      origin: header('origin'),
      method,
      resourceType,
      resourceLinks: ridLink === undefined ? [resourceLink] : [resourceLink, ridLink],
      msDate: header(HEADER.msDate) ?? '',
      date: header(HEADER.date) ?? '',
      authorization: header(HEADER.authorization) ?? '',
      isRead: isRead(request, access),
    })
  }

  #headersOf({ headers }: Answer, activityId: string): Record<string, string> {
    const all: Record<string, string> = {
      [HEADER.activityId]: activityId,
      [HEADER.requestCharge]: '0',
    }
    Object.assign(all, headers)
    if (this.#draining.signal.aborted) all['connection'] = 'close'
    return all
  }
}
