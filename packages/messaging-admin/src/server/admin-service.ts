import type { IncomingMessage } from 'node:http'
import { errorCode } from '@tidemark/contracts'
import { isLoopbackHost, isLoopbackOrigin } from '@tidemark/contracts/internal'
import type { MessageBroker } from '@tidemark/messaging'
import type { MessageFront } from '@tidemark/messaging/front'
import { AccessPolicies, includesEmulatorKey, type AccessPolicy } from '@tidemark/messaging/front'
import { authorize, rightFor } from '../authorization/authorize.ts'
import {
  BODY_TOO_LARGE,
  FOREIGN_HOST,
  INTERNAL_ERROR,
  METHOD_NOT_ALLOWED,
  refusalOf,
  TOO_BUSY,
  type Refusal,
} from '../errors/refusals.ts'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import type { Answer } from '../platform/http-listener.ts'
import { readBody } from '../platform/read-body.ts'
import { deleteResource } from '../resources/delete-resource.ts'
import { getResource } from '../resources/get-resource.ts'
import { putResource } from '../resources/put-resource.ts'
import { parseAddress, type ResourceAddress } from '../resources/resource-address.ts'
import type { ReachedAt } from '../resources/resource-urls.ts'
import { atomAnswer, emptyAnswer, HEALTHY, refusalAnswer } from './answer.ts'

/** A request that failed inside the server, for a log. Never contains keys, tokens or bodies. */
export interface AdminFailure {
  /** Stands in the client's answer, too. */
  readonly trackingId: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly error: unknown
}

export interface AdminServiceOptions {
  readonly broker: MessageBroker
  readonly policies: readonly AccessPolicy[]
  readonly maxConcurrentRequests: number
  readonly onFailure: (failure: AdminFailure) => void
}

const DEFAULT_API_VERSION = '2021-05'
const MAX_API_VERSION_CHARACTERS = 40
/** A name or an address, perhaps with a port: answers repeat it. */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i

/** Answers requests one by one: who asks, what for, and what came of it. */
export class AdminService {
  readonly #broker: MessageBroker
  readonly #front: MessageFront
  readonly #policies: AccessPolicies
  readonly #maxConcurrentRequests: number
  readonly #onFailure: (failure: AdminFailure) => void
  #hasEmulatorKey: boolean
  #served = 0

  /** @throws ERR_INVALID_OPTION */
  constructor({ broker, policies, maxConcurrentRequests, onFailure }: AdminServiceOptions) {
    this.#broker = broker
    this.#front = broker.front()
    this.#policies = new AccessPolicies(policies)
    this.#hasEmulatorKey = includesEmulatorKey(policies)
    this.#maxConcurrentRequests = maxConcurrentRequests
    this.#onFailure = onFailure
  }

  /** @throws ERR_INVALID_OPTION, and the old ones stay in force */
  replacePolicies(policies: readonly AccessPolicy[]): void {
    this.#policies.replace(policies)
    this.#hasEmulatorKey = includesEmulatorKey(policies)
  }

  /** Never rejects: whatever fails is an answer. */
  async answer(incoming: IncomingMessage): Promise<Answer> {
    const trackingId = this.#front.random.hex(16)
    const told = (refusal: Refusal): Answer =>
      refusalAnswer(refusal, { trackingId, nowMs: this.#front.clock.wallMs() })
    try {
      const answer = await this.#answer(incoming)
      return 'subCode' in answer ? told(answer) : answer
    } catch (error) {
      const refusal = refusalOf(error)
      // A client that left is not worth reporting.
      if (refusal === INTERNAL_ERROR && errorCode(error) !== 'ECONNRESET') {
        const { method = '', url = '' } = incoming
        this.#report({ trackingId, method, path: url.replace(/\?.*$/s, ''), error })
      }
      return told(refusal)
    }
  }

  async #answer(incoming: IncomingMessage): Promise<Answer | Refusal> {
    const { method = 'GET', url = '/', headers } = incoming
    const { host = 'localhost', origin, authorization } = headers
    if (this.#hasEmulatorKey && !isFromHere(host, origin)) return FOREIGN_HOST
    const [rawPath = '', search = ''] = url.split('?', 2)
    if (!HOST.test(host) || !rawPath.startsWith('/')) {
      throw new InvalidRequestError('The request has no valid host or path.')
    }
    if (rawPath === '/health' && authorization === undefined) return HEALTHY
    const address = parseAddress(rawPath)
    authorize(this.#policies, {
      token: authorization,
      rawPath,
      right: rightFor(address),
      nowMs: this.#front.clock.wallMs(),
    })
    if (this.#served >= this.#maxConcurrentRequests) return TOO_BUSY
    this.#served += 1
    try {
      const query = new URLSearchParams(search)
      const apiVersion = query.get('api-version') ?? DEFAULT_API_VERSION
      if (apiVersion.length > MAX_API_VERSION_CHARACTERS) {
        throw new InvalidRequestError('api-version is too long.')
      }
      const isTls = 'encrypted' in incoming.socket && incoming.socket.encrypted === true
      const reached = { apiVersion, origin: `${isTls ? 'https' : 'http'}://${host}` }
      if (address === undefined) return NOT_FOUND
      return await this.#perform({ method, address, incoming, query, reached })
    } finally {
      this.#served -= 1
    }
  }

  async #perform({
    method,
    address,
    incoming,
    query,
    reached,
  }: {
    readonly method: string
    readonly address: ResourceAddress
    readonly incoming: IncomingMessage
    readonly query: URLSearchParams
    readonly reached: ReachedAt
  }): Promise<Answer | Refusal> {
    const broker = this.#broker
    switch (method) {
      case 'GET':
        return atomAnswer(200, await getResource(address, { broker, reached, query }))
      case 'PUT': {
        const isUpdate = readCondition(incoming.headers['if-match'])
        const body = await readBody(incoming)
        if (body === undefined) return BODY_TOO_LARGE
        const root = await putResource(address, { broker, reached, body, isUpdate })
        return root === undefined ? METHOD_NOT_ALLOWED : atomAnswer(isUpdate ? 200 : 201, root)
      }
      case 'DELETE':
        return (await deleteResource(address, broker)) ? emptyAnswer(200) : METHOD_NOT_ALLOWED
      default:
        return METHOD_NOT_ALLOWED
    }
  }

  #report(failure: AdminFailure): void {
    try {
      this.#onFailure(failure)
    } catch {
      // A log that fails must not end the request that it reports.
    }
  }
}

const NOT_FOUND: Refusal = {
  status: 404,
  subCode: 40400,
  detail: 'There is no resource at this path.',
}

/** Whether a browser's page from elsewhere, under whatever name, cannot have sent this. */
function isFromHere(host: string, origin: string | undefined): boolean {
  return isLoopbackHost(host) && (origin === undefined || isLoopbackOrigin(origin))
}

/** Whether an update was asked for. Resources have no versions that a client could name. */
function readCondition(ifMatch: string | undefined): boolean {
  if (ifMatch === undefined) return false
  if (ifMatch.trim() === '*') return true
  throw new InvalidRequestError('If-Match must be * or absent.')
}
