import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createDashboard } from './create-dashboard.ts'
import { MIRROR, ORDERS, write } from './mirrored-orders.fixture.ts'
import { OpenedPage, problem } from './opened-page.fixture.ts'
import { pageFiles } from '../platform/page-files.ts'

const CROSS = [403, 'ERR_CROSS_SITE'] as const

test('an action that another site may have caused is refused, and changes nothing', async () => {
  await using page = await OpenedPage.open()
  const asked = async (headers: Record<string, string>, without?: string) => {
    const all: Record<string, string> = {
      'content-type': 'application/json',
      'x-tidemark-action': '1',
      ...headers,
    }
    if (without !== undefined) delete all[without]
    const body = JSON.stringify(MIRROR)
    return problem(await page.fetch('api/actions/pause', { method: 'POST', headers: all, body }))
  }
  // As the page itself: it gets as far as looking for the group.
  const passed = [404, 'ERR_NOT_FOUND'] as const
  expect(await asked({})).toEqual(passed)
  expect(await asked({ origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' })).toEqual(
    passed,
  )
  // A proxy with TLS before it.
  expect(await asked({ origin: 'https://localhost:8080' })).toEqual(passed)
  for (const origin of [
    'http://evil.example',
    'http://localhost:8081',
    'http://localhost',
    'null',
    'x',
  ]) {
    expect([origin, ...(await asked({ origin }))]).toEqual([origin, ...CROSS])
  }
  for (const site of ['cross-site', 'same-site']) {
    expect(await asked({ 'sec-fetch-site': site })).toEqual(CROSS)
  }
  expect(await asked({}, 'x-tidemark-action')).toEqual(CROSS)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
    expect(await asked({ 'content-type': type })).toEqual([415, 'ERR_UNSUPPORTED_TYPE'])
  }
  expect(await asked({ 'content-type': 'application/json; charset=utf-8' })).toEqual(passed)
})

test('what foreign pages ask for is refused, also where it only reads', async () => {
  await using page = await OpenedPage.open()
  const headers = { 'sec-fetch-site': 'cross-site' }
  for (const path of ['api/info', 'api/views/overview', 'api/streams/overview']) {
    expect(await problem(await page.fetch(path, { headers }))).toEqual(CROSS)
  }
})

test('a name that leads to this machine by foreign DNS is refused for every path', async () => {
  await using page = await OpenedPage.open({ files: pageFiles({ 'index.html': '<p>' }) })
  for (const path of ['', 'api/info', 'api/streams/overview', 'api/actions/pause', 'no']) {
    const answer = await page.fetch(path, { headers: { host: 'rebound.example:8080' } })
    expect(await problem(answer)).toEqual([403, 'ERR_WRONG_HOST'])
  }
})

test('with credentials every path needs them, also the files of the page', async () => {
  await using page = await OpenedPage.open({
    credentials: { basic: ['ada:right'] },
    files: pageFiles({ 'index.html': '<p>' }),
  })
  const basic = (pair: string) => ({ authorization: `Basic ${btoa(pair)}` })
  for (const path of ['', 'api/info', 'api/streams/overview', 'api/actions/pause', 'no']) {
    for (const headers of [{}, basic('ada:wrong'), basic(':')]) {
      const answer = await page.fetch(path, { headers })
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
      expect(await problem(answer)).toEqual([401, 'ERR_UNAUTHORIZED'])
    }
  }
  expect((await page.fetch('', { headers: basic('ada:right') })).status).toBe(200)
})

test('files have a strict policy; scripts come from here only, and nobody frames the page', async () => {
  await using page = await OpenedPage.open({
    files: pageFiles({
      'index.html': '<p>page',
      'assets/main-1.js': 'run()',
      'icon.svg': '<svg/>',
    }),
  })
  const index = await page.fetch('')
  expect(await index.text()).toBe('<p>page')
  expect(Object.fromEntries(index.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  const policy = index.headers.get('content-security-policy') ?? ''
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
  const script = await page.fetch('assets/main-1.js', {
    headers: { 'accept-encoding': 'br, gzip' },
  })
  expect(script.headers.get('content-encoding')).toBe('gzip')
  expect(script.headers.get('cache-control')).toContain('immutable')
  const unpacked = gunzipSync(await script.arrayBuffer()).toString()
  expect(unpacked).toBe('run()')
  const etag = index.headers.get('etag') ?? ''
  const again = await page.fetch('', { headers: { 'if-none-match': etag } })
  expect([again.status, await again.text()]).toEqual([304, ''])
  for (const path of [
    '../package.json',
    'assets/',
    'assets',
    '%2e%2e/package.json',
    'index.html/x',
  ]) {
    expect((await page.fetch(path)).status).toBe(404)
  }
  const api = await page.fetch('api/info')
  expect(api.headers.get('content-security-policy')).toBe(
    "default-src 'none'; frame-ancestors 'none'",
  )
  expect(api.headers.get('cache-control')).toBe('no-store')
})

test('bodies that are malformed or too large are refused, and no answer has a stack', async () => {
  await using page = await OpenedPage.open()
  for (const body of [
    '',
    'x',
    '[]',
    'null',
    '"x"',
    '{"leases":1}',
    '{"leases":"a"}',
    '{"leases":"a","group":"b","dryRun":1}',
    `{"leases":${'['.repeat(60_000)}${']'.repeat(60_000)}}`,
  ]) {
    expect([body, ...(await problem(await page.post('pause', body)))]).toEqual([
      body,
      400,
      'ERR_BAD_REQUEST',
    ])
  }
  const large = JSON.stringify({ ...MIRROR, more: 'x'.repeat(300_000) })
  expect(await problem(await page.post('pause', large))).toEqual([413, 'ERR_REQUEST_TOO_LARGE'])
  for (const name of ['no', 'toString', '__proto__', '']) {
    expect(await problem(await page.post(name, {}))).toEqual([404, 'ERR_NOT_FOUND'])
  }
})

test('what fails without a fault of the request is told without a word of it, and reported', async () => {
  const failures: (readonly [unknown, string])[] = []
  await using page = await OpenedPage.open({
    onFailure: (error, place) => failures.push([error, place]),
  })
  const fault = new Error('secret')
  page.store.listDatabases = () => Promise.reject(fault)
  const answer = await page.fetch('api/views/overview')
  const text = await answer.text()
  expect([answer.status, JSON.parse(text)]).toMatchObject([500, { code: 'ERR_FAILED' }])
  expect(text).not.toContain('secret')
  expect(failures).toEqual([[fault, 'GET /api/views/overview']])
})

test('a body that is cut off is a fault of its client, and not reported', async () => {
  const failures: unknown[] = []
  await using page = await OpenedPage.open({ onFailure: (error) => failures.push(error) })
  const body = new ReadableStream({
    pull: (stream) => stream.error(Object.assign(new Error('aborted'), { code: 'ECONNRESET' })),
  })
  const headers = { 'content-type': 'application/json', 'x-tidemark-action': '1' }
  const init = { method: 'POST', body, headers, duplex: 'half' } as RequestInit
  expect(await problem(await page.fetch('api/actions/pause', init))).toEqual([
    400,
    'ERR_BAD_REQUEST',
  ])
  expect(failures).toEqual([])
})

test('below a base path only that path is served, and its own slash is added', async () => {
  const files = pageFiles({ 'index.html': '<p>' })
  await using page = await OpenedPage.open({ basePath: '/tools/tidemark', files })
  expect((await page.fetch('tools/tidemark/')).status).toBe(200)
  expect((await page.fetch('tools/tidemark/api/info')).status).toBe(200)
  const without = await page.fetch('tools/tidemark')
  expect([without.status, without.headers.get('location')]).toEqual([308, '/tools/tidemark/'])
  for (const path of ['', 'api/info', 'tools/tidemarks', 'tools']) {
    expect((await page.fetch(path)).status).toBe(404)
  }
})

test('options that cannot be right are refused when the page is made', async () => {
  await using page = await OpenedPage.open()
  const { store } = page
  const local = { store, host: '127.0.0.1' }
  for (const options of [
    { store },
    { ...local, host: '0.0.0.0' },
    { ...local, basePath: 'x' },
    { ...local, basePath: '/a/../b?' },
    { ...local, sampleMs: 0 },
    { ...local, environment: 'x'.repeat(41) },
    { ...local, store: {} },
    { ...local, mask: 'x' },
    { ...local, colour: 'red' },
  ]) {
    expect(() => createDashboard(options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
    )
  }
})

test('a base path that cannot be right is refused at once, however long it is', async () => {
  await using page = await OpenedPage.open()
  const { store } = page
  for (const basePath of [`/${'a'.repeat(60)}!`, `/${'a/'.repeat(60)}/`]) {
    expect(() => createDashboard({ store, host: '127.0.0.1', basePath })).toThrow(/basePath/)
  }
  for (const basePath of ['/', '/a', '/a/', '/a-b/~c.d/e_f']) {
    await createDashboard({ store, host: '127.0.0.1', basePath }).close()
  }
})

test('there are at most 50 streams, of which the oldest gives way', async () => {
  await using page = await OpenedPage.open()
  await write(page.store, 1)
  const streams = []
  for (let n = 0; n < 50; n += 1) {
    streams.push(await (n % 2 === 1 ? page.stream('overview') : page.stream('tail', ORDERS)))
  }
  const [tail, overview, stays] = streams
  await write(page.store, 1)
  expect(await tail?.next()).toBeDefined()
  expect(await stays?.next()).toBeDefined()
  expect(await overview?.next()).toMatchObject({ event: 'view' })
  const more = await Promise.all([page.stream('tail', ORDERS), page.stream('overview')])
  expect(await overview?.next()).toBeUndefined()
  while ((await tail?.next()) !== undefined);
  // Who leaves makes room.
  await more[0].cancel()
  expect(await (await page.stream('overview')).next()).toMatchObject({ event: 'view' })
  await write(page.store, 1)
  expect(await stays?.next()).toBeDefined()
})
