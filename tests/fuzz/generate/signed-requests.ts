import type { SeededRandom } from '@tidemark/testing/simulation'
import type { SignedFuzz } from '../fuzz-request.ts'
import { randomDocument, randomId, randomKey } from './random-document.ts'
import { randomHeaders } from './random-headers.ts'
import { listOf, NAMES, randomJson, sometimesDamaged } from './random-json.ts'
import { randomPatch } from './random-patch.ts'
import { randomQueryBody } from './random-query.ts'

/** Where requests go: created again and again, because requests also delete. */
export const FUZZ = {
  database: 'fuzz',
  plain: 'plain',
  split: 'split',
  versions: 'versions',
} as const

type Make = (random: SeededRandom) => SignedFuzz

/** How often each comes, relatively. */
const KINDS: readonly (readonly [weight: number, make: Make])[] = [
  [20, write],
  [14, read],
  [8, patch],
  [8, batch],
  [6, bulk],
  [22, query],
  [12, feed],
  [6, fullFidelityFeed],
  [4, plainFeed],
  [6, mangledContinuation],
  [4, resource],
  [3, metadata],
  [3, anything],
]
const TOTAL = KINDS.reduce((sum, [weight]) => sum + weight, 0)

/** Any request with a right signature. */
export function randomSignedRequest(random: SeededRandom): SignedFuzz {
  let left = random.below(TOTAL)
  const [, make] = KINDS.find(([weight]) => (left -= weight) < 0) ?? [0, write]
  const request = make(random)
  // Few of them, so that most requests get to where work is done.
  const headers = { ...request.headers, ...randomHeaders(random, random.chance(0.3) ? 0.06 : 0) }
  if (!random.chance(0.02)) return { ...request, headers }
  return { ...request, headers, leaveAfterMs: random.below(6) }
}

function container(random: SeededRandom): string {
  const id = random.chance(0.97)
    ? random.pick([FUZZ.plain, FUZZ.split, FUZZ.versions])
    : encodeURIComponent(random.pick(NAMES) || 'none')
  return `/dbs/${FUZZ.database}/colls/${id}`
}

function documents(random: SeededRandom): string {
  return `${container(random)}/docs`
}

function document(random: SeededRandom, id = randomId(random)): string {
  return `${documents(random)}/${encodeURIComponent(id) || 'x'}`
}

function keyHeader(key: string): Record<string, string> {
  return { 'x-ms-documentdb-partitionkey': `[${key}]` }
}

function write(random: SeededRandom): SignedFuzz {
  const key = randomKey(random)
  const id = randomId(random)
  const body = sometimesDamaged(random, 0.08, randomDocument(random, key, id))
  if (random.chance(0.25)) {
    const path = document(random, id)
    return { kind: 'signed', method: 'PUT', path, headers: keyHeader(key), body }
  }
  const upsert = random.chance(0.8) ? { 'x-ms-documentdb-is-upsert': 'true' } : {}
  const headers = { ...keyHeader(key), ...upsert }
  return { kind: 'signed', method: 'POST', path: documents(random), headers, body }
}

function read(random: SeededRandom): SignedFuzz {
  const method = random.pick(['GET', 'GET', 'GET', 'DELETE', 'HEAD'])
  return { kind: 'signed', method, path: document(random), headers: keyHeader(randomKey(random)) }
}

function patch(random: SeededRandom): SignedFuzz {
  const body = sometimesDamaged(random, 0.05, randomPatch(random))
  const headers = keyHeader(randomKey(random))
  return { kind: 'signed', method: 'PATCH', path: document(random), headers, body }
}

const OPERATION_TYPES = ['Create', 'Upsert', 'Upsert', 'Read', 'Replace', 'Delete', 'Patch']

function operation(random: SeededRandom, key: string, form: 'keyed' | 'bare'): string {
  if (random.chance(0.03)) return randomJson(random)
  const type = random.pick(random.chance(0.98) ? OPERATION_TYPES : ['Nonsense', '', 'constructor'])
  const own = randomId(random)
  const body = type === 'Patch' ? randomPatch(random) : randomDocument(random, key, own)
  const id = random.chance(0.97) ? `,"id":${JSON.stringify(own)}` : ''
  const match = random.chance(0.1) ? `,"ifMatch":${random.pick(['"*"', '"x"', '5'])}` : ''
  const partitionKey = form === 'keyed' ? `,"partitionKey":${JSON.stringify(`[${key}]`)}` : ''
  return `{"operationType":"${type}"${id}${match}${partitionKey},"resourceBody":${body}}`
}

function batch(random: SeededRandom): SignedFuzz {
  const key = randomKey(random)
  const most = random.chance(0.03) ? 130 : 5
  const body = `[${listOf(random, most, () => operation(random, key, 'bare'))}]`
  const headers = {
    ...keyHeader(key),
    'x-ms-cosmos-is-batch-request': 'true',
    'x-ms-cosmos-batch-atomic': 'true',
  }
  return { kind: 'signed', method: 'POST', path: documents(random), headers, body }
}

function bulk(random: SeededRandom): SignedFuzz {
  const body = `[${listOf(random, 6, () => operation(random, randomKey(random), 'keyed'))}]`
  const headers = {
    'x-ms-documentdb-partitionkeyrangeid': random.pick(['0', '0', '1', '2']),
    'x-ms-cosmos-is-batch-request': 'true',
    'x-ms-cosmos-batch-atomic': 'false',
    'x-ms-cosmos-batch-continue-on-error': random.pick(['true', 'false']),
  }
  return {
    kind: 'signed',
    method: 'POST',
    path: documents(random),
    headers,
    body: sometimesDamaged(random, 0.03, body),
  }
}

function query(random: SeededRandom): SignedFuzz {
  const plan = random.chance(0.1) ? { 'x-ms-cosmos-is-query-plan-request': 'True' } : {}
  const key = random.chance(0.2) ? keyHeader(randomKey(random)) : {}
  const page = random.chance(0.3) ? { 'x-ms-max-item-count': random.pick(['1', '2', '10']) } : {}
  const headers = {
    'content-type': 'application/query+json',
    'x-ms-documentdb-isquery': 'true',
    'x-ms-documentdb-query-enablecrosspartition': 'true',
    ...plan,
    ...key,
    ...page,
  }
  const path = random.chance(0.95) ? documents(random) : random.pick(['/dbs', '/offers'])
  return { kind: 'signed', method: 'POST', path, headers, body: randomQueryBody(random) }
}

function feed(random: SeededRandom): SignedFuzz {
  const scope = random.chance(0.7)
    ? { 'x-ms-documentdb-partitionkeyrangeid': random.pick(['0', '1', '2']) }
    : keyHeader(randomKey(random))
  const start = random.chance(0.6)
    ? { 'if-none-match': random.pick(['*', `"${random.below(40)}"`]) }
    : {}
  const headers = { 'a-im': 'Incremental Feed', ...scope, ...start }
  return { kind: 'signed', method: 'GET', path: documents(random), headers }
}

function fullFidelityFeed(random: SeededRandom): SignedFuzz {
  const { headers } = feed(random)
  return {
    kind: 'signed',
    method: 'GET',
    path: `/dbs/${FUZZ.database}/colls/${FUZZ.versions}/docs`,
    headers: {
      ...headers,
      'a-im': 'Full-Fidelity Feed',
      'x-ms-cosmos-changefeed-wire-format-version': '2021-09-15',
    },
  }
}

function plainFeed(random: SeededRandom): SignedFuzz {
  const headers = { 'x-ms-max-item-count': random.pick(['1', '3', '-1']) }
  return { kind: 'signed', method: 'GET', path: documents(random), headers }
}

function mangledContinuation(random: SeededRandom): SignedFuzz {
  const [asked, header] = random.pick([
    [plainFeed(random), 'x-ms-continuation'],
    [{ ...query(random), body: '{"query":"SELECT * FROM c ORDER BY c.n"}' }, 'x-ms-continuation'],
    [
      { ...query(random), body: '{"query":"SELECT c.name, COUNT(1) FROM c GROUP BY c.name"}' },
      'x-ms-continuation',
    ],
    [feed(random), 'if-none-match'],
  ] as const)
  const by = random.pick(['', '0', '9', '"', '{', 'A', '-', '=', '9'.repeat(30)])
  const headers = { ...asked.headers, 'x-ms-max-item-count': '1' }
  return { ...asked, headers, continuation: { header, at: random.fraction(), by } }
}

function resource(random: SeededRandom): SignedFuzz {
  const method = random.pick(['GET', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
  // Not the container that others need: for all that can be deleted there is one of its own.
  const path = random.pick([
    '/', '/dbs', '/dbs/gone', '/dbs/gone/colls', '/dbs/gone/colls/gone', '/dbs/gone/colls/gone/docs', '/offers',
    '/offers/gone', '/dbs/gone/colls/gone/pkranges', '/dbs/gone/colls/gone/sprocs/x',
    '/dbs/gone/colls/gone/operations/partitionkeydelete', '/dbs/gone/colls/gone/triggers',
  ]) // oxfmt-ignore
  const body = method === 'POST' || method === 'PUT' ? { body: definition(random) } : {}
  return { kind: 'signed', method, path, headers: {}, ...body }
}

function definition(random: SeededRandom): string {
  if (random.chance(0.4))
    return '{"id":"gone","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}'
  const more = listOf(random, 3, () => `"${random.pick(PROPERTIES)}":${randomJson(random)}`)
  const paths = random.pick([
    '["/pk"]',
    '["/a/b"]',
    '["/a","/b","/c"]',
    '["pk"]',
    '"/pk"',
    '[]',
    '[null]',
    '["/"]',
  ])
  const text = `{"id":"gone","partitionKey":{"paths":${paths}}${more === '' ? '' : `,${more}`}}`
  return sometimesDamaged(random, 0.1, text)
}

const PROPERTIES = [
  'id', 'partitionKey', 'defaultTtl', 'indexingPolicy', 'uniqueKeyPolicy', 'changeFeedPolicy', 'conflictResolutionPolicy',
  'geospatialConfig', 'computedProperties', 'content', 'resource', 'offerThroughput', '__proto__',
] // oxfmt-ignore

function metadata(random: SeededRandom): SignedFuzz {
  const path = random.pick(['', '/pkranges', '/sprocs', '/conflicts'])
  return { kind: 'signed', method: 'GET', path: `${container(random)}${path}`, headers: {} }
}

/** Any verb, any path. */
function anything(random: SeededRandom): SignedFuzz {
  const method = random.pick([
    'GET',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'TRACE',
    'LOCK',
    'MERGE',
    'HEAD',
  ])
  const segment = (): string =>
    random.pick([
      'dbs',
      'colls',
      'docs',
      'offers',
      '..',
      '.',
      '%2e%2e',
      '%00',
      '%ff',
      '%',
      '%zz',
      '',
      'a%2fb',
      '😀'.normalize(),
      'x'.repeat(500),
      '?a=b',
      '__proto__',
    ])
  const path = `/${Array.from({ length: random.below(9) }, segment).join('/')}`
  const body = random.chance(0.5) ? { body: randomJson(random) } : {}
  return {
    kind: 'signed',
    method,
    path: path.replaceAll('😀', '%F0%9F%98%80'),
    headers: {},
    ...body,
  }
}
