import { expect, test } from 'vitest'
import { faultOf, type FuzzAnswer } from './check-answer.ts'
import { generateRequest } from './generate/generate-request.ts'
import { judgeLeak, type LeakSample } from './judge-leak.ts'
import { parseAnswers } from './parse-answers.ts'

test('a request follows from seed and number alone', () => {
  for (let index = 0; index < 200; index++) {
    expect(generateRequest(7, index)).toEqual(generateRequest(7, index))
  }
  expect(generateRequest(7, 1)).not.toEqual(generateRequest(8, 1))
})

test('an error without a JSON object and a message is a fault, and so is every 500', () => {
  const answer = (status: number, body: string, type = 'application/json'): FuzzAnswer => ({
    method: 'GET',
    status,
    headers: { 'content-type': type },
    body: Buffer.from(body),
  })
  for (const good of [
    answer(404, '{"message":"gone"}'),
    answer(304, ''),
    answer(200, '{}'),
    { ...answer(404, ''), method: 'HEAD' },
  ]) {
    expect(faultOf(good)).toBeUndefined()
  }
  for (const bad of [
    answer(404, ''),
    answer(404, '[]'),
    answer(404, '{"message":5}'),
    answer(400, '{"message":"x"}', 'text/html'),
    answer(200, '{'),
    answer(304, 'x'),
    answer(500, '{"message":"sorry"}'),
  ]) {
    expect(faultOf(bad)).toBeTypeOf('string')
  }
})

test('answers that follow each other on one connection are taken apart', () => {
  const bytes = Buffer.from(
    'HTTP/1.1 100 Continue\r\n\r\n' +
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}' +
      'HTTP/1.1 404 Not Found\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n' +
      'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab',
  )
  const { answers, rest } = parseAnswers(bytes)
  expect(answers.map(({ status, body }) => [status, body.toString()])).toEqual([
    [100, ''],
    [200, '{}'],
    [404, 'abc'],
  ])
  expect(rest).toBe('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab'.length)
})

test('what grows with the requests is a leak; what came once is none', () => {
  const sample = (requests: number, heapBytes: number, openFiles: number): LeakSample => ({
    requests,
    heapBytes,
    openFiles,
    rssBytes: 1e8,
    resources: {},
    longestStretchMs: 0,
  })
  const [start, middle] = [sample(1000, 3e7, 20), sample(50_000, 3.2e7, 22)]
  expect(judgeLeak([start, middle, sample(100_000, 3.3e7, 21)])).toEqual([])
  expect(judgeLeak([start, middle, sample(100_000, 9e7, 21)])).toHaveLength(1)
  expect(judgeLeak([start, middle, sample(100_000, 3.3e7, 400)])).toHaveLength(1)
})
