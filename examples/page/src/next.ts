import type { Dashboard } from 'tidemark'

/** What `app/tidemark/[[...path]]/route.ts` exports. Set `trailingSlash: true` in `next.config.js`. */
export function nextRoute(page: Dashboard): Record<'GET' | 'POST', Dashboard['fetch']> {
  return { GET: page.fetch, POST: page.fetch }
}
