import { serveRequests } from '@tidemark/gateway'
import { createDashboard, openStore } from 'tidemark'
import { expressApp } from './express.ts'
import { fastifyApp } from './fastify.ts'
import { honoApp } from './hono.ts'

/*
 * node --conditions=@tidemark/source examples/page/src/main.ts express ./data
 *
 * The page is at http://127.0.0.1:3000/tidemark/, in a server of your own.
 */

const [framework = 'hono', folder = ':memory:'] = process.argv.slice(2)
const port = Number(process.env['PORT'] ?? 3000)
const host = '127.0.0.1'
const store = await openStore(folder)
const page = createDashboard({ store, basePath: '/tidemark', host })

if (framework === 'express') expressApp(page).listen(port, host)
else if (framework === 'fastify') await fastifyApp(page).listen({ port, host })
else await serveRequests({ answer: async (request) => honoApp(page).fetch(request), host, port })
console.log(`http://${host}:${port}/tidemark/`)
