import type { Router } from 'hono/router'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { SmartRouter } from 'hono/router/smart-router'
import { TrieRouter } from 'hono/router/trie-router'
import type { ServedOperation } from './request-server.ts'
import { methodNotAllowed, noSuchResource, routes } from './routes.ts'

/** Of a path that nothing is served at. */
const NOTHING: ServedOperation = { operation: noSuchResource, access: 'read' }

/** Finds what a request asks for in the table of routes. */
export class RequestRouter {
  readonly #router: Router<ServedOperation> = new SmartRouter({
    routers: [new RegExpRouter(), new TrieRouter()],
  })

  constructor() {
    for (const { method, path, operation, access } of routes) {
      const needed = access ?? (method === 'GET' ? 'read' : 'write')
      this.#router.add(method, path, { operation, access: needed })
    }
    // Those of a method stand before the one of all.
    for (const path of new Set(routes.map((route) => route.path))) {
      this.#router.add('ALL', path, { operation: methodNotAllowed, access: 'read' })
    }
  }

  /** `path`: as it came, without query and slashes at its ends; names are matched percent-encoded. */
  find(method: string, path: string): ServedOperation {
    const [[first]] = this.#router.match(method === 'HEAD' ? 'GET' : method, `/${path}`)
    return first?.[0] ?? NOTHING
  }
}
