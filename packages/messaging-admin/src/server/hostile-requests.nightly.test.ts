import { expect, test } from 'vitest'
import {
  EMULATOR,
  entryOf,
  rawSocket,
  received,
  runningAdmin,
  sasToken,
} from './running-admin.fixture.ts'

const QUEUE = entryOf('<QueueDescription/>')
const LIMIT_BYTES = 256 * 1024

const PAST_S = 1_600_000_000
const ROOT_URL = 'https://localhost/'

test.each([
  ['no token', undefined],
  ['an empty one', ''],
  ['one of another kind', 'Bearer abc'],
  ['a key itself', 'a key of our own'],
  ['another key', sasToken(ROOT_URL, { key: 'other' })],
  ['an empty key', sasToken(ROOT_URL, { key: ' ' })],
  ['another name', sasToken(ROOT_URL, { name: 'Other' })],
  ['one that has run out', sasToken(ROOT_URL, { expiresS: PAST_S })],
  ['a longer life than was signed', sasToken(ROOT_URL).replace(/se=\d+/, 'se=99999999999')],
  ['another resource', sasToken('https://localhost/other')],
  ['a very long one', `SharedAccessSignature ${'a=b&'.repeat(3000)}`],
])('with %s nothing is read, changed or told', async (_name, token) => {
  await using admin = await runningAdmin()
  await admin.broker.createQueue('orders')
  const sent = [
    await admin.send('GET', 'orders', { token }),
    await admin.send('GET', 'none', { token }),
    await admin.send('PUT', 'mine', { token, body: QUEUE }),
    await admin.send('DELETE', 'orders', { token }),
    await admin.send('GET', '$namespaceinfo', { token }),
  ]
  for (const { status, headers, text } of sent) {
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toBe('SharedAccessSignature')
    expect(text).toMatch(/<Error><Code>401<\/Code><Detail>SubCode=40100\. Unauthorized access: /)
    expect(text).not.toContain('key of our own')
  }
  expect(await admin.broker.listQueues()).toMatchObject([{ name: 'orders' }])
  expect(admin.failures).toEqual([])
})

const BOMB = `<!DOCTYPE b [<!ENTITY a "${'x'.repeat(1000)}">${Array.from(
  { length: 20 },
  (_, index) => `<!ENTITY a${index} "${`&a${index === 0 ? '' : index - 1};`.repeat(10)}">`,
).join('')}]>`

test.each([
  ['nothing', ''],
  ['a text', 'queue'],
  ['JSON', '{"queue":1}'],
  ['an open tag', '<entry'],
  ['an open element', '<entry><content>'],
  ['crossed elements', '<entry><content></entry></content>'],
  ['two roots', `${QUEUE}${QUEUE}`],
  ['no entry', '<QueueDescription/>'],
  ['no content', '<entry/>'],
  ['two contents', '<entry><content><a/></content><content><a/></content></entry>'],
  ['two descriptions', entryOf('<QueueDescription/><QueueDescription/>')],
  ['a bomb of entities', BOMB + entryOf('<QueueDescription>&a19;</QueueDescription>')],
  ['a file', `<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]>${entryOf('<a>&f;</a>')}`],
  ['a foreign definition', `<!DOCTYPE a SYSTEM "http://evil.example/a.dtd">${QUEUE}`],
  ['an entity without a definition', of('<UserMetadata>&file;</UserMetadata>')],
  ['no character', of('<UserMetadata>&#0;</UserMetadata>')],
  ['a character beyond all', of('<UserMetadata>&#x110000;</UserMetadata>')],
  ['deep elements', `${'<a>'.repeat(1000)}${'</a>'.repeat(1000)}`],
  ['many elements', entryOf(`<QueueDescription>${'<a/>'.repeat(20_000)}</QueueDescription>`)],
  ['a reserved name', of('<__proto__>1</__proto__>')],
  ['another reserved name', of('<constructor>1</constructor>')],
  ['an unknown property', of('<LockDuratoin>PT1M</LockDuratoin>')],
  ['a property twice', of('<LockDuration>PT5S</LockDuration><LockDuration>PT1M</LockDuration>')],
  ['neither true nor false', of('<RequiresSession>maybe</RequiresSession>')],
  ['no number', of('<MaxDeliveryCount>many</MaxDeliveryCount>')],
  ['no address', of('<ForwardTo>sb://localhost/</ForwardTo>')],
  ['an anonymous queue', of('<IsAnonymousAccessible>true</IsAnonymousAccessible>')],
  ['bytes that are no text', new Uint8Array([0x3c, 0xff, 0xfe, 0x3e])],
])('a body with %s is 400, and nothing is created', async (_name, body) => {
  await using admin = await runningAdmin()
  const { status, text } = await admin.send('PUT', 'orders', { body })
  expect(status).toBe(400)
  expect(text).toContain('<Code>400</Code>')
  expect(await admin.broker.listQueues()).toEqual([])
  expect(admin.failures).toEqual([])
})

function of(properties: string): string {
  return entryOf(`<QueueDescription>${properties}</QueueDescription>`)
}

test('a body may be as large as the limit, and no larger', async () => {
  await using admin = await runningAdmin()
  const padded = (bytes: number): string => `${QUEUE}${' '.repeat(bytes - QUEUE.length)}`
  const larger = await admin.send('PUT', 'large', { body: padded(LIMIT_BYTES + 1) })
  expect([larger.status, larger.headers.get('connection')]).toEqual([413, 'close'])
  expect((await admin.send('PUT', 'fits', { body: padded(LIMIT_BYTES) })).status).toBe(201)
  expect(await admin.broker.listQueues()).toMatchObject([{ name: 'fits' }])
})

test('a body without end is cut off at the limit', async () => {
  await using admin = await runningAdmin()
  const head = `PUT /orders HTTP/1.1\r\nhost: a\r\nauthorization: ${sasToken(ROOT_URL)}\r\n`
  const socket = await rawSocket(admin.server.port, `${head}transfer-encoding: chunked\r\n\r\n`)
  const end = received(socket)
  const piece = `10000\r\n${' '.repeat(65_536)}\r\n`
  for (let sent = 0; sent < 100 && socket.writable; sent++) {
    await new Promise<void>((resolve) => socket.write(piece, () => resolve()))
  }
  expect(await end).toMatch(/^(HTTP\/1.1 413 |$)/)
  expect((await admin.send('GET', 'health', { token: undefined })).status).toBe(200)
})

test('headers have a limit, too', async () => {
  await using admin = await runningAdmin()
  const long = { 'x-long': 'x'.repeat(20_000) }
  expect((await admin.send('GET', 'orders', { headers: long })).status).toBe(431)
})

test('a client that leaves in the middle of its body leaves nothing behind', async () => {
  await using admin = await runningAdmin({ maxConcurrentRequests: 1 })
  const head = `PUT /orders HTTP/1.1\r\nhost: a\r\nauthorization: ${sasToken(ROOT_URL)}\r\n`
  const socket = await rawSocket(admin.server.port, `${head}content-length: 100\r\n\r\n<entry>`)
  await expect.poll(async () => (await admin.send('GET', '$namespaceinfo')).status).toBe(503)
  socket.destroy()
  await expect.poll(async () => (await admin.send('GET', '$namespaceinfo')).status).toBe(200)
  expect(await admin.broker.listQueues()).toEqual([])
  expect(admin.failures).toEqual([])
})

test('what is more than the server serves at once is told to come back', async () => {
  await using admin = await runningAdmin({ maxConcurrentRequests: 1 })
  const head = `PUT /orders HTTP/1.1\r\nhost: a\r\nauthorization: ${sasToken(ROOT_URL)}\r\n`
  const body = QUEUE
  const socket = await rawSocket(
    admin.server.port,
    `${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 9)}`,
  )
  const end = received(socket)
  await expect.poll(async () => (await admin.send('GET', '$namespaceinfo')).status).toBe(503)
  const { headers, text } = await admin.send('GET', '$namespaceinfo')
  expect([headers.get('retry-after'), text]).toEqual(['1', expect.stringContaining('busy')])
  // Who has no right to ask does not take a place, nor learn that there is none.
  expect((await admin.send('GET', 'orders', { token: undefined })).status).toBe(401)
  expect((await admin.send('GET', 'health', { token: undefined })).status).toBe(200)
  socket.write(body.slice(9))
  expect(await end).toMatch(/^HTTP\/1.1 201 /)
})

const FOREIGN = [
  ['host: evil.example'],
  ['host: localhost.evil.example:5300'],
  ['host: 0.0.0.0'],
  ['host: localhost\r\norigin: http://evil.example'],
  ['host: localhost\r\norigin: null'],
] as const

test.each(FOREIGN)(
  'with the emulator’s key a page from elsewhere is refused: %j',
  async (headers) => {
    await using admin = await runningAdmin({ policies: [EMULATOR] })
    const token = sasToken(ROOT_URL, { key: 'SAS_KEY_VALUE' })
    for (const path of ['/$Resources/queues', '/health']) {
      const text = `GET ${path} HTTP/1.1\r\n${headers}\r\nauthorization: ${token}\r\nconnection: close\r\n\r\n`
      const answer = await received(await rawSocket(admin.server.port, text))
      expect(answer).toMatch(/^HTTP\/1.1 403 /)
      expect(answer).not.toContain('SAS_KEY_VALUE')
    }
  },
)

test.each(FOREIGN)('with a key of its own any name serves: %j', async (headers) => {
  await using admin = await runningAdmin()
  const text = `GET /$Resources/queues HTTP/1.1\r\n${headers}\r\nauthorization: ${sasToken(ROOT_URL)}\r\nconnection: close\r\n\r\n`
  expect(await received(await rawSocket(admin.server.port, text))).toMatch(/^HTTP\/1.1 200 /)
})

test.each(['GET orders', 'GET http://localhost/orders', 'GET /%zz', 'GET *'])(
  'the request %j is 400',
  async (line) => {
    await using admin = await runningAdmin()
    const text = `${line} HTTP/1.1\r\nhost: a\r\nauthorization: ${sasToken(ROOT_URL)}\r\nconnection: close\r\n\r\n`
    expect(await received(await rawSocket(admin.server.port, text))).toMatch(/^HTTP\/1.1 400 /)
    expect(admin.failures).toEqual([])
  },
)

test('a host that is no address is not repeated', async () => {
  await using admin = await runningAdmin()
  const text = `GET /$Resources/queues HTTP/1.1\r\nhost: a"<b>\r\nauthorization: ${sasToken(ROOT_URL)}\r\nconnection: close\r\n\r\n`
  const answer = await received(await rawSocket(admin.server.port, text))
  expect(answer).toMatch(/^HTTP\/1.1 400 /)
  expect(answer).not.toContain('<b>')
})

test('bytes that are no HTTP end their own connection', async () => {
  await using admin = await runningAdmin()
  const answer = await received(await rawSocket(admin.server.port, 'AMQP\u0000\u0001\u0000\u0000'))
  expect(answer).toMatch(/^(HTTP\/1.1 400 |$)/)
  expect((await admin.send('GET', 'health', { token: undefined })).status).toBe(200)
})
