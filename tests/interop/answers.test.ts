import { TriggerOperation, TriggerType, type Container } from '@azure/cosmos'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openInterop, pathOf, refusal, type Interop } from './interop.fixture.ts'

let interop: Interop
let container: Container
beforeAll(async () => {
  interop = await openInterop()
})
beforeEach(async () => {
  container = await interop.container()
})
afterAll(() => interop.close())

const KEY_HEADER = { 'x-ms-documentdb-partitionkey': '["x"]' }
const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe('Request charges', () => {
  test('every answer has one, and the client reads it', async () => {
    const created = await container.items.create({ id: 'a', pk: 'x' })
    const read = await container.item('a', 'x').read()
    const queried = await container.items.query('SELECT * FROM c WHERE true').fetchAll()
    const deleted = await container.item('a', 'x').delete()
    for (const { requestCharge } of [created, read, queried, deleted]) {
      expect(requestCharge).toBeGreaterThan(0)
    }
  })

  test('a write costs more than a read, and a large document more than a small one', async () => {
    const small = await container.items.create({ id: 'a', pk: 'x' })
    const large = await container.items.create({ id: 'b', pk: 'x', text: 'x'.repeat(50_000) })
    const read = await container.item('a', 'x').read()
    expect(small.requestCharge).toBeGreaterThan(read.requestCharge)
    expect(large.requestCharge).toBeGreaterThan(small.requestCharge)
  })

  test('CF-14 feed pages are charged like reads', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    const feed = container.items.getChangeFeedIterator({})
    expect((await feed.readNext()).requestCharge).toBeGreaterThan(0)
  })

  test('TTL-17 ttl costs nothing', async () => {
    const timed = await interop.container({ defaultTtl: 60 })
    const plain = await container.items.create({ id: 'a', pk: 'x', n: 10 })
    const expiring = await timed.items.create({ id: 'a', pk: 'x', n: 10 })
    expect(expiring.requestCharge).toBe(plain.requestCharge)
  })

  test('errors and 304 have a charge too', async () => {
    const { resource } = await container.items.create({ id: 'a', pk: 'x' })
    const notModified = await interop.send({
      path: `${pathOf(container)}/docs/a`,
      headers: { ...KEY_HEADER, 'if-none-match': String(resource?._etag) },
    })
    const missing = await interop.send({ path: `${pathOf(container)}/docs/b`, headers: KEY_HEADER })
    for (const { headers } of [notModified, missing]) {
      expect(headers.get('x-ms-request-charge')).toMatch(/^\d+(\.\d+)?$/)
    }
  })
})

describe('Answers', () => {
  test('every answer has an activity id of its own', async () => {
    const first = await container.items.create({ id: 'a', pk: 'x' })
    const second = await container.item('a', 'x').read()
    expect(first.activityId).toMatch(GUID)
    expect(second.activityId).toMatch(GUID)
    expect(first.activityId).not.toBe(second.activityId)
  })

  test('the etag of an answer is the one of the document', async () => {
    const { etag, resource } = await container.items.create({ id: 'a', pk: 'x' })
    expect(etag).toBe(resource?._etag)
    const read = await container.item('a', 'x').read()
    expect(read.etag).toBe(etag)
  })

  test('_ts is in whole seconds of now', async () => {
    const { resource } = await container.items.create({ id: 'a', pk: 'x' })
    const now = Math.floor(interop.clock.wallMs() / 1000)
    expect(Math.abs(now - (resource?._ts ?? 0))).toBeLessThanOrEqual(5)
  })

  test('JSON answers say so, and have the length or are chunked', async () => {
    const { headers } = await interop.send({ path: pathOf(container) })
    expect(headers.get('content-type')).toContain('application/json')
  })

  test('headers are ASCII, also for names that are not', async () => {
    const named = await interop.container({ id: 'nämé 中' })
    const { headers } = await named.items.create({ id: 'ä', pk: 'ö' })
    for (const value of Object.values(headers)) expect(String(value)).toMatch(/^[\x20-\x7e]*$/)
  })

  test('diagnostics of the client name one contacted endpoint and no retry', async () => {
    const { diagnostics } = await container.items.create({ id: 'a', pk: 'x' })
    const { retryDiagnostics, locationEndpointsContacted } = diagnostics.clientSideRequestStatistics
    expect(retryDiagnostics.failedAttempts).toEqual([])
    expect(locationEndpointsContacted).toEqual([interop.gateway.endpoint])
  })

  test('unknown headers, versions and SDK capabilities are no error', async () => {
    const { status } = await interop.send({
      path: pathOf(container),
      headers: {
        'x-ms-version': '2015-08-06',
        'x-ms-cosmos-sdk-supportedcapabilities': '255',
        'x-ms-cosmos-allow-tentative-writes': 'true',
        'x-nobody-knows': 'this',
        'x-ms-cosmos-priority-level': 'Low',
        'x-ms-cosmos-throughput-bucket': '3',
      },
    })
    expect(status).toBe(200)
  })

  test('options of the client that mean nothing here are no error', async () => {
    const { statusCode } = await container.items.create(
      { id: 'a', pk: 'x' },
      { priorityLevel: 'High' as never, throughputBucket: 2, indexingDirective: 'include' },
    )
    expect(statusCode).toBe(201)
    const read = await container.item('a', 'x').read({ maxIntegratedCacheStalenessInMs: 100 })
    expect(read.statusCode).toBe(200)
  })
})

describe('Errors', () => {
  test('the client is told code, message, activity id and headers', async () => {
    await container.items.create({ id: 'a', pk: 'x' })
    const error = await refusal(container.items.create({ id: 'a', pk: 'x' }))
    expect(error.code).toBe(409)
    expect(error.message).toContain('"a"')
    expect(error.activityId).toMatch(GUID)
    expect(error.headers?.['x-ms-request-charge']).toBeDefined()
    expect(error.body).toMatchObject({ code: 'Conflict' })
  })

  test.each([
    ['GET', 'dbs/none', 404, 'NotFound'],
    ['GET', 'dbs/none/colls/none', 404, 'NotFound'],
    ['GET', 'dbs/none/colls/none/docs/a', 404, 'NotFound'],
    ['GET', 'nonsense/path', 404, 'NotFound'],
    ['PUT', 'dbs', 405, 'MethodNotAllowed'],
    ['DELETE', 'dbs', 405, 'MethodNotAllowed'],
    ['POST', 'dbs', 400, 'BadRequest'],
  ])('%s %s is %d with code %s and a message', async (method, path, status, code) => {
    const answer = await interop.send({ method, path, headers: KEY_HEADER })
    expect(answer.status).toBe(status)
    expect(answer.json).toMatchObject({ code, message: expect.any(String) })
    expect(answer.headers.get('x-ms-activity-id')).toMatch(GUID)
  })

  test('ST-11 stored procedures, triggers and functions are a clear 400', async () => {
    const { scripts } = container
    const calls = [
      scripts.storedProcedures.create({ id: 's', body: 'function () {}' }),
      scripts.triggers.create({
        id: 't',
        body: 'function () {}',
        triggerType: TriggerType.Pre,
        triggerOperation: TriggerOperation.All,
      }),
      scripts.userDefinedFunctions.create({ id: 'u', body: 'function () {}' }),
      scripts.storedProcedure('s').execute('x'),
      scripts.storedProcedure('s').replace({ id: 's', body: 'function () {}' }),
    ]
    for (const call of calls) {
      const error = await refusal(call)
      expect(error.code).toBe(400)
      expect(error.message.length).toBeGreaterThan(20)
    }
  })

  test('users, permissions and encryption keys are a clear 400', async () => {
    const { database } = interop
    const calls = [
      database.users.create({ id: 'u' }),
      database.users.readAll().fetchAll(),
      database.user('u').permissions.readAll().fetchAll(),
    ]
    for (const call of calls) {
      const error = await refusal(call)
      expect(error.code).toBe(400)
      expect(error.message).toMatch(/(users|permissions) are not supported/)
    }
  })

  test('ST-11 lists of scripts and conflicts are empty', async () => {
    const { scripts, conflicts } = container
    expect((await scripts.storedProcedures.readAll().fetchAll()).resources).toEqual([])
    expect((await scripts.triggers.readAll().fetchAll()).resources).toEqual([])
    expect((await scripts.userDefinedFunctions.readAll().fetchAll()).resources).toEqual([])
    expect((await conflicts.readAll().fetchAll()).resources).toEqual([])
  })

  test('ST-11 a script or conflict that somebody looks for or deletes is 404', async () => {
    const { scripts } = container
    const calls = [
      scripts.storedProcedure('s').read(),
      scripts.storedProcedure('s').delete(),
      scripts.trigger('t').read(),
      scripts.userDefinedFunction('u').delete(),
      container.conflict('c').delete(),
    ]
    for (const call of calls) expect((await refusal(call)).code).toBe(404)
  })

  test('an abort signal ends the call of the client and does no harm to the gateway', async () => {
    const abort = new AbortController()
    abort.abort()
    const call = container.items.create({ id: 'a', pk: 'x' }, { abortSignal: abort.signal })
    await expect(call).rejects.toThrow()
    expect((await container.items.upsert({ id: 'a', pk: 'x' })).statusCode).toBeLessThan(300)
  })
})

describe('Throttling', () => {
  /** A container of one range with that budget a second, and a client that does not retry. */
  async function throttledContainer(requestUnitsPerRange: number) {
    const throttled = await openInterop({ gateway: { requestUnitsPerRange } })
    const patient = await throttled.container()
    const client = throttled.connect({
      connectionPolicy: { retryOptions: { maxRetryAttemptCount: 0 } as never },
    })
    const impatient = client.database('interop').container(patient.id)
    return { patient, impatient, [Symbol.asyncDispose]: () => throttled.close() }
  }

  test('429 has substatus 3200 and a time to wait', async () => {
    // One write is let in, and a minute passes until it is paid for.
    await using throttled = await throttledContainer(0.1)
    const { items } = throttled.impatient
    await items.create({ id: 'a', pk: 'x' })
    const error = await refusal(items.create({ id: 'b', pk: 'x' }))
    expect([error.code, error.substatus]).toEqual([429, 3200])
    expect(error.retryAfterInMs).toBeGreaterThan(1000)
  })

  test('lists, queries and feeds meet the budget too', async () => {
    await using throttled = await throttledContainer(0.1)
    const { items } = throttled.impatient
    await items.create({ id: 'a', pk: 'x' })
    const reads: readonly (() => Promise<unknown>)[] = [
      () => items.query('SELECT * FROM c').fetchAll(),
      () => items.query('SELECT * FROM c WHERE c.n > 0').fetchAll(),
      () => items.getChangeFeedIterator({}).readNext(),
      () => throttled.impatient.item('a', 'x').read(),
    ]
    for (const read of reads) expect((await refusal(read())).code).toBe(429)
  })

  test('a list spends the budget', async () => {
    await using throttled = await throttledContainer(0.1)
    const { items } = throttled.impatient
    expect((await items.query('SELECT * FROM c').fetchAll()).resources).toEqual([])
    expect((await refusal(items.create({ id: 'a', pk: 'x' }))).code).toBe(429)
  })

  test('a client that retries waits so long, and succeeds', async () => {
    await using throttled = await throttledContainer(100)
    for (let n = 0; n < 35; n++) {
      const { statusCode } = await throttled.patient.items.create({ id: `d${n}`, pk: 'x' })
      expect(statusCode).toBe(201)
    }
  })
})
