import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import { acceptedKeys } from '../authorization/gateway-keys.ts'
import { Authorizer } from '../authorization/authorizer.ts'
import { CollectionDirectory } from '../collections/collection-directory.ts'
import { DatabaseOffers } from '../collections/database-offers.ts'
import { PresentRanges } from '../collections/present-ranges.ts'
import { RangeBudgets } from '../collections/range-budgets.ts'
import { SessionGuard } from '../collections/session-progress.ts'
import { rawPath } from '../protocol/resource-path.ts'
import type { GatewayContext, Operation } from '../requests/gateway-request.ts'
import type { Access } from '../requests/query-or.ts'
import { resolveGatewayOptions, type GatewayOptions } from './gateway-options.ts'
import type { NodeBindings } from '../platform/node-bindings.ts'
import { RequestServer } from './request-server.ts'
import { methodNotAllowed, noSuchResource, routes } from './routes.ts'

/** The gateway without a socket: a hono application that a Node server feeds. */
export interface Gateway {
  /** Serves one request of Node's server; the answer is written to `outgoing` itself. Never rejects. */
  fetch(request: Request, bindings: NodeBindings): Promise<Response>
  /** From now on waiting reads answer at once and connections are not kept; resolves when nothing is being served. */
  drain(): Promise<void>
  /** Ends what is still being served, with 503 where an answer is possible. */
  abort(): void
}

/**
 * Makes the application over a store. It starts nothing; `startGateway` gives it a socket.
 *
 * @throws ERR_INVALID_OPTION
 */
export function createGateway(options: GatewayOptions): Gateway {
  const resolved = resolveGatewayOptions(options)
  const { store, clock, accountId, maxWaitMs, requestUnitsPerRange } = resolved
  const context: GatewayContext = {
    store,
    accountId,
    clock,
    maxWaitMs,
    collections: new CollectionDirectory(store),
    ranges: new PresentRanges(clock),
    sessions: new SessionGuard(clock),
    databaseOffers: new DatabaseOffers(),
    budgets: new RangeBudgets(requestUnitsPerRange, clock),
  }
  const onRangesChanged = (): void => context.ranges.forgetAll()
  store.events.on('rangeSplit', onRangesChanged).on('rangesMerged', onRangesChanged)
  const authorizer = new Authorizer(acceptedKeys(resolved.keys), clock)
  const server = new RequestServer(context, authorizer, resolved)
  const app = new Hono<{ Bindings: NodeBindings }>({
    // Names come percent-encoded and are decoded once, by the gateway itself.
    getPath: (request, options) => {
      const target = options?.env?.incoming.url
      return `/${rawPath(target ?? new URL(request.url).pathname)}`
    },
  })
  const serve = (operation: Operation, access: Access) => {
    return async ({ env }: { readonly env: NodeBindings }) => {
      await server.serve(env, { operation, access })
      return RESPONSE_ALREADY_SENT
    }
  }
  for (const { method, path, operation, access } of routes) {
    app.on(method, path, serve(operation, access ?? (method === 'GET' ? 'read' : 'write')))
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    app.all(path, serve(methodNotAllowed, 'read'))
  }
  app.notFound(serve(noSuchResource, 'read'))
  return {
    fetch: async (request, bindings) => app.fetch(request, bindings),
    drain: () => server.drain(),
    abort: () => {
      server.abort()
      store.events.off('rangeSplit', onRangesChanged).off('rangesMerged', onRangesChanged)
    },
  }
}
