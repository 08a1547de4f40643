import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkOptions } from '@tidemark/contracts/internal'
import { Authorizer } from '../authorization/authorizer.ts'
import { checkKeys, type GatewayKeys } from '../authorization/gateway-keys.ts'
import { CollectionDirectory } from '../collections/collection-directory.ts'
import { PresentRanges } from '../collections/present-ranges.ts'
import { RidDirectory } from '../collections/rid-directory.ts'
import { RangeBudgets } from '../collections/range-budgets.ts'
import { SessionGuard } from '../collections/session-progress.ts'
import { rawPath } from '../protocol/resource-path.ts'
import type { GatewayContext } from '../requests/gateway-request.ts'
import {
  gatewayRules,
  resolveGatewayOptions,
  type GatewayOptions,
  type ResolvedGatewayOptions,
} from './gateway-options.ts'
import { isOffered } from './offered-path.ts'
import { RequestServer } from './request-server.ts'
import { RequestRouter } from './router.ts'

/** The gateway without a socket, for a Node server of HTTP/1. */
export interface Gateway {
  /**
   * Serves one request of Node's server; the answer is written to `outgoing`. Never rejects.
   *
   * @param told.onAuthorized called as soon as the request's signature has been verified; until then the connection is a
   * stranger's. Its argument stands for the key if that can only read
   */
  serve(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    told?: { readonly onAuthorized?: ((readOnlyKey: object | undefined) => void) | undefined },
  ): Promise<void>
  /**
   * From now on only these keys count; requests that are being served are finished. The old ones stay in force when one of the new
   * is refused. To rotate a key, accept both for as long as clients need.
   *
   * @throws ERR_INVALID_OPTION
   */
  replaceKeys(keys: GatewayKeys): void
  /** From now on waiting reads answer at once and connections are not kept; resolves when nothing is being served. */
  drain(): Promise<void>
  /** Ends what is still being served, with 503 where an answer is possible. */
  abort(): void
}

/**
 * Makes the gateway over a store. It starts nothing; `startGateway` gives it a socket.
 *
 * @throws ERR_INVALID_OPTION
 */
export function createGateway(options: GatewayOptions): Gateway {
  checkOptions(options, gatewayRules)
  return openGateway(resolveGatewayOptions(options))
}

export function openGateway(resolved: ResolvedGatewayOptions): Gateway {
  const { store, clock, accountId, maxWaitMs, requestUnitsPerRange, beside } = resolved
  const context: GatewayContext = {
    store,
    accountId,
    clock,
    maxWaitMs,
    collections: new CollectionDirectory(store),
    rids: new RidDirectory(store),
    ranges: new PresentRanges(clock),
    sessions: new SessionGuard(clock, maxWaitMs),
    budgets: new RangeBudgets(requestUnitsPerRange, clock),
  }
  const onRangesChanged = (): void => context.ranges.forgetAll()
  store.events.on('rangeSplit', onRangesChanged).on('rangesMerged', onRangesChanged)
  const authorizer = new Authorizer(resolved.keys, clock)
  const server = new RequestServer(context, authorizer, resolved)
  const router = new RequestRouter()
  return {
    serve: (incoming, outgoing, told) => {
      const { method = 'GET', url = '/' } = incoming
      const path = rawPath(url)
      const offered = beside !== undefined && isOffered(path, incoming) ? beside : undefined
      return server.serve({ incoming, outgoing, ...told }, router.find(method, path), offered)
    },
    replaceKeys: (keys) => {
      checkKeys(keys)
      authorizer.replaceKeys(keys)
    },
    drain: () => server.drain(),
    abort: () => {
      server.abort()
      store.events.off('rangeSplit', onRangesChanged).off('rangesMerged', onRangesChanged)
    },
  }
}
