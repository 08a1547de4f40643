import { createHmac } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { READ_ONLY_KEY, SERVED_KEY, signedHeaders } from '../../gateway/signed-request.ts'
import type { ServingProcess } from '../../gateway/serving-process.ts'
import {
  ATTACH,
  CLOSE,
  DETACH,
  DISPOSITION,
  frame,
  frameOf,
  frames,
  message,
  RawClient,
  SASL_HEADER,
  SASL_INIT,
  saslFrame,
  source,
  tokenMessage,
  value,
} from '../amqp/raw-client.ts'

/** A place where a text of somebody else comes in. Resolves when the server has answered, in whatever way. */
export interface Entry {
  readonly name: string
  readonly send: (server: ServingProcess, text: string) => Promise<void>
}

export const QUEUE = 'good'
export const TOPIC = 'topic'
export const SUBSCRIPTION = 'all'
export const DATABASE = 'growth'
export const CONTAINER = 'items'
const DOCS = `/dbs/${DATABASE}/colls/${CONTAINER}/docs`
const POLICY = { name: 'RootManageSharedAccessKey', key: SERVED_KEY }
/** Answered at the latest after this, or the entry hangs. */
const PATIENCE_MS = 60_000

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Whatever comes back counts: a refusal, an answer, or a connection that is cut. */
async function ask(port: number, { method, path, headers, body }: Asked): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  try {
    const outgoing = httpRequest(
      { port, host: '127.0.0.1', method, path, headers, agent: false, timeout: PATIENCE_MS },
      (incoming) => incoming.resume().once('close', resolve),
    )
    outgoing.once('error', () => resolve())
    outgoing.end(body)
    await promise
  } catch {
    // A client that keeps to HTTP cannot send such a text here.
  }
}

const onPath = (text: string): string => encodeURI(text.toWellFormed()).replaceAll(/[?#]/g, '%3F')
const inHeader = (text: string): string => encodeURI(text.toWellFormed())

function signed(name: string, of: (text: string) => Asked): Entry {
  return {
    name,
    send: (server, text) => {
      const { headers, ...asked } = of(text)
      const { method, path } = asked
      const key = method === 'GET' ? READ_ONLY_KEY : SERVED_KEY
      return ask(server.port, {
        ...asked,
        headers: { ...signedHeaders({ method, path, key }), ...headers },
      })
    },
  }
}

function plain(name: string, of: (text: string) => Asked): Entry {
  return { name, send: (server, text) => ask(server.port, of(text)) }
}

function query(name: string, of: (text: string) => object): Entry {
  return signed(name, (text) => ({
    method: 'POST',
    path: DOCS,
    headers: {
      'content-type': 'application/query+json',
      'x-ms-documentdb-isquery': 'true',
      'x-ms-documentdb-partitionkey': '["p"]',
    },
    body: JSON.stringify(of(text)),
  }))
}

function document(name: string, method: string, of: (text: string) => string): Entry {
  return signed(name, (text) => ({
    method,
    path: method === 'POST' ? DOCS : `${DOCS}/d`,
    headers: { 'x-ms-documentdb-partitionkey': '["p"]' },
    body: of(text),
  }))
}

function readHeader(header: string): Entry {
  return signed(`gateway: header ${header}`, (text) => ({
    method: 'GET',
    path: DOCS,
    headers: { [header]: inHeader(text) },
  }))
}

const gateway: readonly Entry[] = [
  plain('gateway: path without a key', (text) => ({ method: 'GET', path: `/${onPath(text)}` })),
  plain('gateway: authorization', (text) => ({
    method: 'GET',
    path: '/dbs',
    headers: { authorization: inHeader(text), 'x-ms-date': new Date().toUTCString() },
  })),
  signed('gateway: path', (text) => ({ method: 'GET', path: `/dbs/${onPath(text)}` })),
  signed('gateway: parameters', (text) => ({ method: 'GET', path: `/dbs?${onPath(text)}` })),
  ...[
    'x-ms-documentdb-partitionkey',
    'x-ms-continuation',
    'x-ms-session-token',
    'x-ms-max-item-count',
    'if-none-match',
    'a-im',
    'x-ms-start-epk',
  ].map(readHeader),
  document('gateway: a document', 'POST', (text) => text),
  document('gateway: a value', 'POST', (text) => JSON.stringify({ id: 'v', pk: 'p', text })),
  document('gateway: an id', 'POST', (text) => JSON.stringify({ id: text, pk: 'p' })),
  document('gateway: path of a patch', 'PATCH', (text) =>
    JSON.stringify({ operations: [{ op: 'set', path: text, value: 1 }] }),
  ),
  document('gateway: condition of a patch', 'PATCH', (text) =>
    JSON.stringify({ condition: text, operations: [{ op: 'set', path: '/n', value: 1 }] }),
  ),
  query('gateway: text of a query', (text) => ({ query: text })),
  query('gateway: expression of a query', (text) => ({ query: `SELECT * FROM c WHERE ${text}` })),
  query('gateway: LIKE of a query', (text) => ({
    query: 'SELECT * FROM c WHERE c.text LIKE @like',
    parameters: [{ name: '@like', value: text }],
  })),
  query('gateway: a regular expression of a query', (text) => ({
    query: 'SELECT * FROM c WHERE RegexMatch(c.text, @of)',
    parameters: [{ name: '@of', value: text }],
  })),
  signed('gateway: paths of a container', (text) => ({
    method: 'POST',
    path: `/dbs/${DATABASE}/colls`,
    body: JSON.stringify({
      id: 'paths',
      partitionKey: { paths: [text] },
      indexingPolicy: { includedPaths: [{ path: text }], excludedPaths: [{ path: '/*' }] },
    }),
  })),
  plain('page: a group', (text) => ({ method: 'GET', path: `/api/groups/${onPath(text)}/lag` })),
  plain('page: parameters', (text) => ({
    method: 'GET',
    path: `/ui/api/views/group?group=${onPath(text)}&source=${onPath(text.slice(0, 100))}`,
  })),
  ...['raw', 'group', 'name'].map((field) => ({
    name: `page: an action, ${field}`,
    send: (server: ServingProcess, text: string) =>
      ask(server.port, {
        method: 'POST',
        path: '/ui/api/actions/pause',
        headers: {
          'content-type': 'application/json',
          origin: server.endpoint.replace(/\/$/, ''),
          'x-tidemark-action': '1',
        },
        body: field === 'raw' ? text : JSON.stringify({ [field]: text, database: text }),
      }),
  })),
]

function administration(name: string, of: (text: string) => Partial<Asked>): Entry {
  return {
    name: `administration: ${name}`,
    send: (server, text) => {
      const { method = 'PUT', path = '/made', headers, body } = of(text)
      const address = `http://127.0.0.1:${server.adminPort}${path}`
      const authorization = sasToken(address)
      const type = { 'content-type': 'application/atom+xml' }
      return ask(server.adminPort, {
        method,
        path: `${path}?api-version=2021-05`,
        headers: { authorization, ...type, ...headers },
        ...(body !== undefined && { body }),
      })
    },
  }
}

function sasToken(resource: string): string {
  const sr = encodeURIComponent(resource.toWellFormed())
  const se = Math.floor(Date.now() / 1000) + 300
  const signature = createHmac('sha256', POLICY.key).update(`${sr}\n${se}`).digest('base64')
  return `SharedAccessSignature sr=${sr}&sig=${encodeURIComponent(signature)}&se=${se}&skn=${POLICY.name}`
}

const xml = (text: string): string =>
  text.toWellFormed().replaceAll(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`)
const entryXml = (description: string): string =>
  `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">${description}</content></entry>`
const queueXml = (properties: string): string =>
  entryXml(
    `<QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">${properties}</QueueDescription>`,
  )

const administrative: readonly Entry[] = [
  administration('a path', (text) => ({ method: 'GET', path: `/${onPath(text)}` })),
  administration('a token', (text) => ({
    method: 'GET',
    headers: { authorization: inHeader(text) },
  })),
  administration('a token with a resource', (text) => ({
    method: 'GET',
    headers: { authorization: `SharedAccessSignature sr=${inHeader(text)}&sig=a&se=1&skn=x` },
  })),
  administration('a body', (text) => ({ body: text })),
  administration('a body with attributes', (text) => ({ body: `<entry ${text}/>` })),
  administration('a description', (text) => ({ body: queueXml(text) })),
  administration('a duration', (text) => ({
    body: queueXml(`<LockDuration>${xml(text)}</LockDuration>`),
  })),
  administration('a destination', (text) => ({
    body: queueXml(`<ForwardTo>sb://localhost/${xml(text)}</ForwardTo>`),
  })),
  administration('a filter', (text) => ({
    path: `/${TOPIC}/subscriptions/${SUBSCRIPTION}/rules/made`,
    body: entryXml(
      `<RuleDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" ` +
        `xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><Filter i:type="SqlFilter">` +
        `<SqlExpression>${xml(text)}</SqlExpression></Filter></RuleDescription>`,
    ),
  })),
]

/** A conversation over a connection that is open; it ends with an answer or with the connection. */
function conversation(
  name: string,
  talk: (client: RawClient, text: string) => Promise<unknown>,
): Entry {
  return {
    name: `amqp: ${name}`,
    send: async (server, text) => {
      await using client = await RawClient.open(server.amqpPort, POLICY)
      // The connection may end before the answer.
      await talk(client, text).catch(() => undefined)
    },
  }
}

function managementRequest(operation: string, body: Buffer): Buffer {
  const properties = [value.string('id'), value.null, value.null, value.null, value.string('back')]
  return Buffer.concat([
    value.described(0x73, value.list(...properties)),
    value.described(0x74, value.map(value.string('operation'), value.string(operation))),
    value.described(0x77, body),
  ])
}

/** In as many frames as it takes. */
async function sendTo(client: RawClient, address: string, payload: Buffer): Promise<unknown> {
  await client.sendTo(0, address)
  for (let at = 0; at < payload.length; at += 32_768) {
    const more = at + 32_768 < payload.length
    client.write(frames.transfer(0, 0, 0, payload.subarray(at, at + 32_768), more))
  }
  return client.next(DISPOSITION)
}

const rule = (expression: string, action?: string): Buffer =>
  value.map(
    value.string('rule-name'),
    value.string('made'),
    value.string('rule-description'),
    value.map(
      value.string('sql-filter'),
      value.map(value.string('expression'), value.string(expression)),
      ...(action === undefined
        ? []
        : [
            value.string('sql-rule-action'),
            value.map(value.string('expression'), value.string(action)),
          ]),
    ),
  )
const MANAGED = `${TOPIC}/Subscriptions/${SUBSCRIPTION}/$management`

const amqp: readonly Entry[] = [
  {
    name: 'amqp: bytes before a login',
    send: async (server, text) => {
      await using client = await RawClient.connect(server.amqpPort)
      client.write(SASL_HEADER, Buffer.from(text))
      client.socket.end()
      await client.ended
    },
  },
  {
    name: 'amqp: a name and key',
    send: async (server, text) => {
      await using client = await RawClient.connect(server.amqpPort)
      const response = value.binary(Buffer.from(`\0${text.slice(0, 4000)}\0${text.slice(0, 3000)}`))
      client.write(SASL_HEADER, saslFrame(SASL_INIT, [value.symbol('PLAIN'), response]))
      client.socket.end()
      await client.ended
    },
  },
  conversation('a frame', async (client, text) => {
    client.write(frameOf({ type: 0, channel: 0, body: [Buffer.from(text.slice(0, 65_000))] }))
    await client.next(CLOSE)
  }),
  conversation('an address', async (client, text) => {
    client.write(frames.attachSender(0, 0, text.slice(0, 30_000)))
    await client.next(DETACH)
  }),
  conversation('a selector', async (client, text) => {
    const filter = value.map(
      value.symbol('apache.org:selector-filter:string'),
      value.described(0x8c, value.string(text.slice(0, 30_000))),
    )
    const nulls = Array.from({ length: 6 }, () => value.null)
    client.write(frames.attachReceiver(0, 0, source(QUEUE, ...nulls, filter)))
    await client.next(ATTACH)
  }),
  conversation('a token', (client, text) =>
    sendTo(client, '$cbs', tokenMessage(text, text.slice(0, 4000), 'back')),
  ),
  ...['add-rule', 'com.microsoft:peek-message', 'com.microsoft:set-session-state'].map(
    (operation) =>
      conversation(`management, ${operation}`, (client, text) =>
        sendTo(client, MANAGED, managementRequest(operation, value.string(text))),
      ),
  ),
  conversation('an operation', (client, text) =>
    sendTo(client, MANAGED, managementRequest(text, value.map())),
  ),
  conversation('a filter', (client, text) =>
    sendTo(client, MANAGED, managementRequest('add-rule', rule(text))),
  ),
  conversation('an action', (client, text) =>
    sendTo(client, MANAGED, managementRequest('add-rule', rule('1 = 1', text))),
  ),
  conversation('a message', (client, text) => sendTo(client, QUEUE, message(text))),
  conversation('sections of a message', (client, text) => sendTo(client, QUEUE, Buffer.from(text))),
  conversation('a property of a message for rules', (client, text) =>
    sendTo(
      client,
      TOPIC,
      Buffer.concat([
        value.described(0x74, value.map(value.string('text'), value.string(text))),
        message('x'),
      ]),
    ),
  ),
  conversation('fields of a flow', async (client, text) => {
    client.write(frame(0, 0x13, [value.binary(Buffer.from(text.slice(0, 60_000)))]))
    await client.next(CLOSE)
  }),
]

/** Everything that a server reads. */
export const ENTRIES: readonly Entry[] = [...gateway, ...administrative, ...amqp]
