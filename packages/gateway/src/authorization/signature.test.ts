import { expect, test } from 'vitest'
import { parseAuthorization, signature, signaturesEqual, signedText } from './signature.ts'

const key = Buffer.from('MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=', 'base64')
const msDate = 'Fri, 02 Jan 2026 03:04:05 GMT'

// Headers as the client sends them for this key and date.
test.each([
  ['GET', 'dbs', 'dbs/ToDoList', '8rG%2F1cMDoFxDBxIi3Y%2BnfI7Goh9B9AQhmR27mde8ey4%3D'],
  ['POST', 'docs', 'dbs/ToDoList/colls/Items', 'hJBJuI8ZVqDKQ1uznCAk1PggcNd4ns8mKAq6OxJXPRU%3D'],
  [
    'GET',
    'docs',
    'dbs/ToDoList/colls/Items/docs/a b',
    'gRoRRm9PyeIkE1cbv8ZUTTu1j5jVK6l1D8Gg2AI8c8w%3D',
  ],
  ['GET', '', '', '63VbByPxaciZM32ukV5sK%2BvFCGGBgXXMKyiocsTeZPg%3D'],
  ['PUT', 'offers', 'abcd', '14jhzdoBxBIdmXtnMAS1ZK%2B6J4iNp3UMUaveIcOc%2B7c%3D'],
])('the signature of %s %s %s is the client’s', (method, resourceType, resourceLink, sig) => {
  const text = signedText({ method, resourceType, resourceLink, msDate, date: 'not counted' })
  const token = parseAuthorization(`type%3Dmaster%26ver%3D1.0%26sig%3D${sig}`)
  expect(token).toMatchObject({ type: 'master', version: '1.0' })
  const given = Buffer.from(token?.signature ?? '', 'base64')
  expect(signaturesEqual(signature(text, key), given)).toBe(true)
  expect(signaturesEqual(signature(`${text} `, key), given)).toBe(false)
})

test('the text that is signed has five lines, in lower case but for the link', () => {
  const request = { method: 'GET', resourceType: 'dbs', resourceLink: 'dbs/ToDoList', date: '' }
  expect(signedText({ ...request, msDate })).toBe(
    'get\ndbs\ndbs/ToDoList\nfri, 02 jan 2026 03:04:05 gmt\n\n',
  )
  expect(signedText({ ...request, msDate: '', date: msDate })).toBe(
    'get\ndbs\ndbs/ToDoList\n\nfri, 02 jan 2026 03:04:05 gmt\n',
  )
})

test.each(['', 'type=master', 'Bearer abc', '%E0%A4%A', 'ver=1.0&type=master&sig=a'])(
  'an authorization header %j is malformed',
  (header) => {
    expect(parseAuthorization(header)).toBeUndefined()
  },
)

test('a plus in a signature that was not encoded stays a plus', () => {
  expect(parseAuthorization('type=master&ver=1.0&sig=a+b/c=')?.signature).toBe('a+b/c=')
})
