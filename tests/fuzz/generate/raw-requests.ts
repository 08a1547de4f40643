import type { SeededRandom } from '@tidemark/testing/simulation'
import type { RawFuzz } from '../fuzz-request.ts'
import { signedPlaceholder } from '../sign-raw.ts'
import { FUZZ } from './signed-requests.ts'

type Bytes = (random: SeededRandom) => string | Buffer

const KINDS: readonly Bytes[] = [
  noise,
  damagedRequest,
  damagedRequest,
  requestLine,
  headerBlock,
  wrongLength,
  wrongLength,
  chunked,
  chunked,
  otherProtocol,
  pipelined,
  unauthorized,
]

/** Bytes that are hardly a request, sent in pieces, by a client that may leave at any time. */
export function randomRawRequest(random: SeededRandom): RawFuzz {
  const made = random.pick(KINDS)(random)
  const bytes = typeof made === 'string' ? Buffer.from(made, 'latin1') : made
  const afterwards = random.chance(0.8) ? 'stay' : random.pick(['leave', 'reset'] as const)
  const cutOff = afterwards !== 'stay' && random.chance(0.7)
  const sent = cutOff ? bytes.subarray(0, random.below(bytes.length + 1)) : bytes
  // Signatures are put in when it is sent; a cut through one leaves a text that is none.
  const slow = random.chance(0.02)
  return {
    kind: 'raw',
    chunks: random.chance(0.2) || slow ? pieces(random, sent) : [sent],
    gapMs: slow ? 5 + random.below(20) : 0,
    afterwards,
  }
}

function pieces(random: SeededRandom, bytes: Buffer): readonly Buffer[] {
  const count = 1 + random.below(6)
  const cuts = Array.from({ length: count }, () => random.below(bytes.length + 1)).sort(
    (a, b) => a - b,
  )
  return [0, ...cuts].map((from, index) => bytes.subarray(from, cuts[index] ?? bytes.length))
}

const PATH = `/dbs/${FUZZ.database}/colls/${FUZZ.plain}/docs`
const BODY = '{"id":"raw","pk":"a"}'

/** A right upsert, whose headers and body may be made wrong. */
function upsert({
  headers = '',
  length = `content-length: ${BODY.length}\r\n`,
  body = BODY,
}: { headers?: string; length?: string; body?: string } = {}): string {
  return (
    `POST ${PATH} HTTP/1.1\r\nhost: localhost\r\n${signedPlaceholder('POST', PATH)}` +
    'x-ms-documentdb-partitionkey: ["a"]\r\nx-ms-documentdb-is-upsert: true\r\n' +
    `content-type: application/json\r\n${headers}${length}\r\n${body}`
  )
}

function get(path = '/dbs'): string {
  return `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${signedPlaceholder('GET', path)}\r\n`
}

function noise(random: SeededRandom): Buffer {
  return Buffer.from(Array.from({ length: 1 + random.below(600) }, () => random.below(256)))
}

function damagedRequest(random: SeededRandom): Buffer {
  const bytes = [...Buffer.from(random.chance(0.5) ? upsert() : get(), 'latin1')]
  for (let hits = 1 + random.below(6); hits > 0; hits--) {
    const at = random.below(bytes.length)
    const what = random.below(3)
    if (what === 0) bytes[at] = random.below(256)
    else if (what === 1) bytes.splice(at, 1 + random.below(3))
    else bytes.splice(at, 0, random.pick([0, 10, 13, 32, 58, 255]))
  }
  return Buffer.from(bytes)
}

function requestLine(random: SeededRandom): string {
  const line = random.pick([
    'GET / HTTP/9.9', 'GET / HTTP/1.0', 'GET /', 'GET  / HTTP/1.1', 'get / HTTP/1.1', 'FOO / HTTP/1.1',
    'GET http://other.example/dbs HTTP/1.1', 'GET http://[::1 HTTP/1.1', 'GET * HTTP/1.1', 'OPTIONS * HTTP/1.1',
    'CONNECT other.example:443 HTTP/1.1', 'GET //etc/passwd HTTP/1.1', 'GET /../../etc/passwd HTTP/1.1',
    'GET /%00 HTTP/1.1', 'GET /\x00 HTTP/1.1', 'GET /\xff\xfe HTTP/1.1', 'GET /dbs?\u007f HTTP/1.1', 'GET /#x HTTP/1.1',
    `GET /${'a'.repeat(random.below(70_000))} HTTP/1.1`, `GET /${'%41'.repeat(2000)} HTTP/1.1`,
    `GET ${'/'.repeat(random.below(3000))} HTTP/1.1`, 'PRI * HTTP/2.0', 'GET javascript:alert(1) HTTP/1.1', ' ', '',
  ]) // oxfmt-ignore
  return `${line}\r\nhost: localhost\r\n${random.chance(0.5) ? signedPlaceholder('GET', '/') : ''}\r\n`
}

function headerBlock(random: SeededRandom): string {
  const headers = random.pick([
    () => 'no colon here\r\n',
    () => ': no name\r\n',
    () => 'x y: blank in the name\r\n',
    () => 'folded: a\r\n b\r\n\tc\r\n',
    () => `large: ${'x'.repeat(random.below(80_000))}\r\n`,
    () => Array.from({ length: random.below(4000) }, (_, n) => `h${n}: ${n}\r\n`).join(''),
    () => 'host: other\r\nhost: third\r\n',
    () => 'expect: 100-continue\r\n',
    () => 'expect: the impossible\r\n',
    () => 'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: x\r\n',
    () => 'connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAA\r\n',
    () => 'connection: close\r\n',
    () => 'connection: keep-alive, x-ms-date, authorization\r\n',
    () => 'host: \r\n',
    () => 'host: a b\r\n',
    () => 'host: [::1\r\n',
    () => 'host: other.example/path?x#y\r\n',
    () => '__proto__: x\r\nconstructor: y\r\n',
    () => 'authorization: type=master\r\n',
    () => 'null: \x00\r\n',
    () => 'bare: \n\n',
  ])()
  if (random.chance(0.3)) return `GET /dbs HTTP/1.1\r\n${headers}\r\n`
  return upsert({ headers })
}

function wrongLength(random: SeededRandom): string {
  const length = random.pick([
    'content-length: 5\r\n', 'content-length: 100\r\n', 'content-length: 99999999\r\n', 'content-length: 0\r\n', '',
    'content-length: -1\r\n', 'content-length: x\r\n', 'content-length: 1e3\r\n', 'content-length: 21,21\r\n',
    'content-length: 21\r\ncontent-length: 22\r\n', 'content-length: 99999999999999999999999\r\n',
    'content-length: 21\r\ntransfer-encoding: chunked\r\n', 'content-length:\r\n', 'content-length: 0x15\r\n',
    'content-length: +21\r\n', 'content-length: 21 \r\n',
  ]) // oxfmt-ignore
  const body = random.pick([
    BODY,
    '',
    '{',
    BODY + get(),
    `${BODY}\r\n\r\n`,
    'x'.repeat(random.below(200_000)),
  ])
  return upsert({ length, body })
}

function chunked(random: SeededRandom): string {
  const whole = `${BODY.length.toString(16)}\r\n${BODY}\r\n`
  const body = random.pick([
    `${whole}0\r\n\r\n`, `${whole}0\r\nx-trailer: 1\r\n\r\n`, `${whole}0\r\ncontent-length: 5\r\n\r\n`, whole, 'zz\r\n',
    'ffffffffffffffffff\r\nx', '-5\r\nabcde\r\n', '5\r\nabc\r\n0\r\n\r\n', `5;${'x'.repeat(40_000)}\r\nabcde\r\n0\r\n\r\n`,
    '1\r\n{\r\n'.repeat(random.below(3000)) + '0\r\n\r\n', '0\r\n\r\n', '\r\n\r\n', `${whole}0\r\n\r\n${get()}`, '5\nabcde\n0\n\n',
    `0000000000000000000000${whole}0\r\n\r\n`, '5 \r\nabcde\r\n0\r\n\r\n',
  ]) // oxfmt-ignore
  const encoding = random.pick([
    'chunked',
    'chunked',
    'chunked',
    'gzip, chunked',
    'chunked, chunked',
    'xchunked',
    'identity',
  ])
  return upsert({ length: `transfer-encoding: ${encoding}\r\n`, body })
}

function otherProtocol(random: SeededRandom): Buffer | string {
  return random.pick([
    // A hello of TLS, the preface of HTTP/2, what a mail server, Redis and PostgreSQL are greeted with.
    Buffer.from('16030100a5010000a10303', 'hex'),
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'EHLO localhost\r\n',
    '*1\r\n$4\r\nPING\r\n',
    Buffer.from('0000000804d2162f', 'hex'),
    '\r\n\r\n\r\n',
  ])
}

function pipelined(random: SeededRandom): string {
  const one = (): string =>
    random.pick([get(), get('/'), upsert(), 'x', get(PATH), get(`${PATH}/none`)])
  return Array.from({ length: 2 + random.below(12) }, one).join('')
}

function unauthorized(random: SeededRandom): string {
  const value = random.pick([
    'type=master', 'type%3Dmaster%26ver%3D1.0%26sig%3D', '%', '%zz%', 'type%3Daad%26ver%3D1.0%26sig%3Dx', 'Bearer x',
    'type%3Dmaster%26ver%3D1.0%26sig%3D!!!!', 'x'.repeat(10_000), 'type%3Dresource%26ver%3D1%26sig%3Dx', '\xff\xfe',
    `type%3Dmaster%26ver%3D1.0%26sig%3D${'A'.repeat(43)}%3D`,
  ]) // oxfmt-ignore
  const date = random.pick(['Fri, 02 Jan 2026 03:04:05 GMT', 'x', '', '\xff', '9'.repeat(500)])
  return `GET /dbs HTTP/1.1\r\nhost: localhost\r\nauthorization: ${value}\r\nx-ms-date: ${date}\r\n\r\n`
}
