import fastify, { type FastifyInstance, type RouteHandlerMethod } from 'fastify'
import type { Dashboard } from 'tidemark'

export function fastifyApp(page: Dashboard): FastifyInstance {
  const app = fastify()
  app.get('/', async () => 'the application')
  void app.register(async (scope) => {
    // The page reads the bodies of its requests itself.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _body, done) => done(null))
    const serve: RouteHandlerMethod = (request, reply) => {
      reply.hijack()
      page.nodeHandler(request.raw, reply.raw)
    }
    scope.all('/tidemark', serve)
    scope.all('/tidemark/*', serve)
  })
  return app
}
