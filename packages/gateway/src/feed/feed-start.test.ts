import { expect, test } from 'vitest'
import type { GatewayRequest } from '../requests/gateway-request.ts'
import { positionEtag, requestedStart, turnOf } from './feed-start.ts'

function startOf(headers: Readonly<Record<string, string>>): unknown {
  const request = { header: (name: string) => headers[name] }
  // Only headers are looked at.
  return requestedStart(request as GatewayRequest)
}

const SINCE = 'Fri, 02 Jan 2026 03:04:05 GMT'

test.each([
  [{}, { kind: 'beginning' }],
  [{ 'if-none-match': '*' }, { kind: 'now' }],
  [{ 'if-none-match': positionEtag(9) }, { kind: 'lsn', lsn: 9 }],
  [{ 'if-none-match': '9' }, { kind: 'lsn', lsn: 9 }],
  [{ 'if-none-match': 'W/"9"' }, { kind: 'lsn', lsn: 9 }],
  [{ 'if-modified-since': SINCE }, { kind: 'time', ts: Date.parse(SINCE) / 1000 + 1 }],
  [
    { 'if-none-match': '"9"', 'if-modified-since': SINCE },
    { kind: 'lsn', lsn: 9 },
  ],
])('CF-6 headers %j begin at %j', (headers, start) => {
  expect(startOf(headers)).toEqual(start)
})

test.each([
  { 'if-none-match': '"abc"' },
  { 'if-none-match': '"-1"' },
  { 'if-none-match': '"99999999999999999999"' },
  { 'if-modified-since': 'yesterday' },
])('CF-8 headers %j are refused', (headers) => {
  expect(() => startOf(headers)).toThrow(expect.objectContaining({ code: 'ERR_BAD_REQUEST' }))
})

test('ranges take turns in the order of the etag', () => {
  const positions = new Map([
    [2, 9],
    [0, 5],
  ])
  const start = { kind: 'positions', positions } as const
  expect(turnOf(start, { number: 2, parents: [] })).toBe(0)
  expect(turnOf(start, { number: 4, parents: [0] })).toBe(1)
  expect(turnOf({ kind: 'now' }, { number: 4, parents: [] })).toBe(0)
})
