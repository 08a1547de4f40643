import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { startPostgresProcess, startRedisProcess } from '@tidemark/testing/servers'

/*
 * Stands in for a container engine, on the unix socket that is its argument: what `testcontainers` asks of Docker's API
 * to start a server and to remove it. Its containers are processes of this machine. It prints each request.
 */

interface Container {
  readonly command: readonly string[]
  readonly exposed: string
  process?: AsyncDisposable & { readonly port: number }
}
const containers = new Map<string, Container>()
const pulled = new Set<string>()

const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    response.writeHead(500).end(JSON.stringify({ message: String(error) }))
  })
})
server.listen(process.argv[2], () => process.stdout.write('listening\n'))

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://engine')
  const [, kind, name = '', action = ''] = pathname.split('/').map(decodeURIComponent)
  const body = request.method === 'POST' ? await bodyOf(request) : undefined
  process.stdout.write(`${request.method} ${pathname}${body === undefined ? '' : ` ${body}`}\n`)
  const reply = (status: number, value?: unknown): void =>
    void response.writeHead(status).end(value === undefined ? '' : JSON.stringify(value))
  const container = containers.get(name)
  switch (`${request.method} /${kind}/${container === undefined ? name : '*'}/${action}`) {
    case 'GET /info//':
      return reply(200, { ServerVersion: '0', OperatingSystem: 'none', OSType: 'linux' })
    case 'GET /containers/json/':
      return reply(200, [])
    case `GET /images/${name}/json`:
      return pulled.has(name) ? reply(200, { Id: name }) : reply(404, { message: 'No such image' })
    case 'POST /images/create/':
      pulled.add(`${searchParams.get('fromImage')}:${searchParams.get('tag')}`)
      return reply(200, { status: 'pulled' })
    case 'POST /containers/create/':
      return reply(201, { Id: create(body ?? '') })
    case 'POST /containers/*/start':
      await start(container!)
      return reply(204)
    case 'GET /containers/*/json':
      return reply(200, inspect(container!))
    case 'GET /containers/*/logs':
      return sendLog(container!, response)
    case 'POST /containers/*/stop':
      await container!.process?.[Symbol.asyncDispose]()
      return reply(204)
    case 'DELETE /containers/*/':
      containers.delete(name)
      return reply(204)
    default:
      return reply(404, { message: `the stand-in knows no ${request.method} ${pathname}` })
  }
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  return request.headers['content-length'] === undefined ||
    request.headers['content-length'] === '0'
    ? undefined
    : JSON.stringify(await json(request))
}

function create(body: string): string {
  const { Cmd, ExposedPorts } = JSON.parse(body) as {
    readonly Cmd: readonly string[]
    readonly ExposedPorts: Readonly<Record<string, object>>
  }
  const id = randomUUID()
  containers.set(id, { command: Cmd, exposed: Object.keys(ExposedPorts)[0] ?? '' })
  return id
}

/** A command that its program refuses leaves a container that has ended, which only its log tells. */
async function start(container: Container): Promise<void> {
  const [program, ...args] = container.command
  try {
    container.process = await (program === 'postgres'
      ? startPostgresProcess({ settings: settingsIn(args), durable: true })
      : startRedisProcess({ args }))
  } catch {
    // Has ended.
  }
}

function settingsIn(args: readonly string[]): Record<string, string> {
  const pairs = args.filter((arg) => arg !== '-c').map((arg) => arg.split('='))
  return Object.fromEntries(pairs) as Record<string, string>
}

function inspect({ exposed, process: server }: Container): unknown {
  const binding = { HostIp: '127.0.0.1', HostPort: String(server?.port ?? 1) }
  return {
    Name: '/stand-in',
    Config: { Hostname: 'stand-in', Labels: {} },
    State: { Status: server ? 'running' : 'exited', Running: server !== undefined },
    HostConfig: { PortBindings: { [exposed]: [{ HostPort: '0' }] } },
    NetworkSettings: { Ports: { [exposed]: [binding] }, Networks: {} },
  }
}

/** Follows: it ends with the container. The image of PostgreSQL says twice that it is ready. */
function sendLog({ command, process: server }: Container, response: ServerResponse): void {
  const postgres = 'database system is ready to accept connections'
  const lines = command[0] === 'postgres' ? [postgres, postgres] : ['* Ready to accept connections']
  response.writeHead(200)
  if (server === undefined) return void response.end(frame('the command is wrong'))
  for (const line of lines) response.write(frame(line))
}

/** One of the standard output's, as Docker sends it. */
function frame(line: string): Buffer {
  const text = Buffer.from(`${line}\n`)
  const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])
  header.writeUInt32BE(text.length, 4)
  return Buffer.concat([header, text])
}
