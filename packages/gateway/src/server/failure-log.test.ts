import { StoreUnavailableError, type LogFields, type Logger } from '@tidemark/contracts'
import { SimulatedClock } from '@tidemark/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { send } from './raw-request.fixture.ts'
import { testGateway, type TestGateway } from './running-gateway.fixture.ts'

afterEach(() => vi.restoreAllMocks())

/** What comes on the standard error output. */
function stderr(): readonly string[] {
  const lines: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(String(line)) > 0)
  return lines
}

/** A request that fails so; the status of its answer. */
async function fail({ store, gateway }: TestGateway, error: Error): Promise<number> {
  store.listDatabases = () => Promise.reject(error)
  return (await send(gateway.endpoint, 'GET', '/dbs?key=secret')).status
}

const away = new StoreUnavailableError('postgres://user:secret@db/shop does not answer')

test('a gateway that nobody listens to tells of failures on the standard error output', async () => {
  const lines = stderr()
  await using started = await testGateway({ onFailure: undefined })
  expect(await fail(started, away)).toBe(503)
  expect(await fail(started, new TypeError('no\nsuch thing'))).toBe(500)
  expect(lines).toEqual([
    expect.stringMatching(
      /^tidemark: ERR_STORE_UNAVAILABLE: postgres:\/\/…@db\/shop does not answer \(GET \/dbs, activity [\da-f-]+\)\n$/,
    ),
    expect.stringMatching(
      /^tidemark: TypeError: no such thing \(at .*\) \(GET \/dbs, activity .*\)\n$/,
    ),
  ])
})

test('at most one line of a code in ten seconds, and the next one says how many were suppressed', async () => {
  const lines = stderr()
  const clock = new SimulatedClock({ startWallMs: Date.now() })
  await using started = await testGateway({ clock, onFailure: undefined })
  for (let n = 0; n < 5; n++) await fail(started, away)
  await fail(started, new Error('other'))
  expect(lines).toHaveLength(2)
  await clock.advance(10_000)
  await fail(started, away)
  expect(lines[2]).toContain('[ERR_STORE_UNAVAILABLE: 4 more suppressed]')
})

test('a logger that is given gets fields, as a warning what may succeed later', async () => {
  const lines = stderr()
  const told: [string, LogFields][] = []
  const at = (level: string) => (fields: LogFields) => void told.push([level, fields])
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  }
  await using started = await testGateway({ logger })
  await fail(started, away)
  await fail(started, new Error('other'))
  const request = {
    event: 'requestFailed',
    method: 'GET',
    path: '/dbs',
    activityId: expect.any(String),
  }
  expect(told).toEqual([
    ['warn', { ...request, code: 'ERR_STORE_UNAVAILABLE' }],
    ['error', request],
  ])
  expect(started.failures).toHaveLength(2)
  expect(lines).toEqual([])
})

test('nothing is logged of faults of clients, with false, or beside a listener', async () => {
  const lines = stderr()
  await using loud = await testGateway({ onFailure: undefined })
  expect((await send(loud.gateway.endpoint, 'GET', '/dbs/none')).status).toBe(404)
  await using silent = await testGateway({ onFailure: undefined, logger: false })
  await fail(silent, away)
  await using heard = await testGateway()
  await fail(heard, away)
  expect(heard.failures).toHaveLength(1)
  expect(lines).toEqual([])
})
