import { errorCode } from '@tidemark/contracts'
import { SteppedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { Authorizer, DATE_WINDOW_MS, type AuthorizedRequest } from './authorizer.ts'
import { RequestSigner } from './request-signer.ts'

const KEY = Buffer.from('a key of this test, and no other')
const OTHER = Buffer.from('another key, which may only read')

function setUp() {
  const clock = new SteppedClock(Date.UTC(2026, 0, 2, 3, 4, 5))
  const keys = { readWrite: [KEY.toString('base64')], readOnly: [OTHER.toString('base64')] }
  const authorizer = new Authorizer(keys, clock)
  const signed = {
    method: 'GET',
    resourceType: 'docs',
    msDate: new Date(clock.wallMs()).toUTCString(),
  }
  const resourceLink = 'dbs/db/colls/c'
  const request = (key: Buffer, change: Partial<AuthorizedRequest> = {}): AuthorizedRequest => ({
    ...signed,
    date: '',
    resourceLinks: [resourceLink],
    authorization: new RequestSigner(key).authorization({ ...signed, resourceLink, date: '' }),
    host: 'localhost',
    origin: undefined,
    isRead: true,
    ...change,
  })
  const outcome = (asked: AuthorizedRequest): string => {
    try {
      return authorizer.check(asked).key.access
    } catch (error) {
      return errorCode(error) ?? ''
    }
  }
  return { authorizer, keys, request, outcome, pass: (ms: number) => clock.step(ms) }
}

test('a signature that was right is right again for the very same request, and no other', () => {
  const { request, outcome } = setUp()
  const right = request(KEY)
  for (let turn = 0; turn < 2; turn++) expect(outcome(right)).toBe('readWrite')
  const others: readonly Partial<AuthorizedRequest>[] = [
    { method: 'POST' },
    { resourceType: 'colls' },
    { resourceLinks: ['dbs/db/colls/d'] },
    { msDate: 'Fri, 02 Jan 2026 03:04:06 GMT' },
    { authorization: right.authorization.replace('sig%3D', 'sig%3DA') },
  ]
  for (const change of others) expect(outcome(request(KEY, change))).toBe('ERR_UNAUTHORIZED')
})

test('it is judged each time by the date, by what its key may do, and by the keys in force', () => {
  const { authorizer, keys, request, outcome, pass } = setUp()
  expect(outcome(request(OTHER))).toBe('readOnly')
  expect(outcome(request(OTHER, { isRead: false }))).toBe('ERR_FORBIDDEN')
  expect(outcome(request(KEY, { isRead: false }))).toBe('readWrite')
  authorizer.replaceKeys({ readWrite: keys.readWrite })
  expect(outcome(request(OTHER))).toBe('ERR_UNAUTHORIZED')
  expect(outcome(request(KEY))).toBe('readWrite')
  pass(DATE_WINDOW_MS + 1)
  expect(outcome(request(KEY))).toBe('ERR_FORBIDDEN')
})
