import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import type { ServedRequest } from '@tidemark/gateway'
import { expect, test } from 'vitest'
import { AccessLog } from './access-log.ts'

const REQUEST: ServedRequest = {
  atMs: Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  address: '192.0.2.7',
  method: 'GET',
  path: '/dbs/shop',
  status: 200,
  durationMs: 1.234,
  bytes: 321,
  activityId: 'an-id',
}

function logOf(form: 'text' | 'json') {
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()]
  return { log: new AccessLog(form, { input, output, errors, interactive: false }), output, errors }
}

test('a line says when, who, what and how it went', () => {
  const { log, output } = logOf('text')
  log.write(REQUEST)
  log.write({ ...REQUEST, address: '', status: 0 })
  expect(String(output.read())).toBe(
    '2026-01-02T03:04:05.006Z 192.0.2.7 GET /dbs/shop 200 1.2ms 321B an-id\n' +
      '2026-01-02T03:04:05.006Z - GET /dbs/shop 0 1.2ms 321B an-id\n',
  )
})

test('the same as JSON', () => {
  const { log, output } = logOf('json')
  log.write(REQUEST)
  const { atMs: _, ...rest } = REQUEST
  expect(JSON.parse(String(output.read()))).toEqual({
    ...rest,
    time: '2026-01-02T03:04:05.006Z',
    durationMs: 1.2,
  })
})

test('a reader who is slow loses lines, is told how many, and costs no memory', async () => {
  let isSlow = true
  let take = (): void => {}
  let taken = 0
  const output = new Writable({
    write: (_line, _encoding, done) => {
      taken++
      if (isSlow) take = done
      else done()
    },
  })
  const errors = new PassThrough()
  const log = new AccessLog('text', { input: errors, output, errors, interactive: false })
  for (let n = 0; n < 30_000; n++) log.write(REQUEST)
  expect(output.writableLength).toBeLessThan(1.1 * 1024 * 1024)
  expect(errors.read()).toBeNull()
  const drained = once(output, 'drain')
  isSlow = false
  take()
  await drained
  expect(taken).toBeLessThan(30_000)
  const kept = taken
  log.write(REQUEST)
  expect(String(errors.read())).toMatch(`tidemark: ${30_000 - kept} lines of the access log were`)
  log.write(REQUEST)
  expect([taken, errors.read()]).toEqual([kept + 2, null])
})

test('nothing is written where nobody reads any more', () => {
  const { log, output, errors } = logOf('text')
  output.destroy()
  log.write(REQUEST)
  expect(errors.read()).toBeNull()
})
