import { Hono } from 'hono'
import type { Dashboard } from 'tidemark'

export function honoApp(page: Dashboard): Hono {
  const app = new Hono()
  app.get('/', (context) => context.text('the application'))
  app.all('/tidemark', ({ req }) => page.fetch(req.raw))
  app.all('/tidemark/*', ({ req }) => page.fetch(req.raw))
  return app
}
