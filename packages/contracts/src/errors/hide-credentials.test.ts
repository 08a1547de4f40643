import { expect, test } from 'vitest'
import { hideCredentials } from './hide-credentials.ts'

test.each([
  ['redis://user:secret@host:6379', 'redis://…@host:6379'],
  ['REDIS://:sec@ret@host', 'REDIS://…@host'],
  ['redis://:sec/ret@host', 'redis://…@host'],
  ['redis//:secret@host:6379', 'redis//…@host:6379'],
  ['no such folder postgres//user:secret@db/shop', 'no such folder postgres//…@db/shop'],
  ['connect failed: postgres://user:secret@db/shop', 'connect failed: postgres://…@db/shop'],
  ['postgres://host/x?user=a&password=secret&ssl=1', 'postgres://host/x?user=a&password=…&ssl=1'],
  ['["file:///x","postgres://u:secret@h"]', '["file:///x","postgres://…@h"]'],
  ["password='se cret", 'password=…'],
  ["host=db password='se cret' user=a", 'host=db password=… user=a'],
  ['AccountEndpoint=https://a/;AccountKey=c2Vj/cg==;', 'AccountEndpoint=https://a/;AccountKey=…;'],
])('of %s the password is hidden', (text, shown) => {
  expect(hideCredentials(text)).toBe(shown)
})

test.each([
  'mail a@b.example',
  'at run (file:///app/node_modules/@scope/name/index.js:1:2)',
  'password authentication failed for user "a"',
  'https://example.org/help',
  'at run (/app//node_modules/@scope/name/index.js:1:2)',
])('%s stays as it is', (text) => {
  expect(hideCredentials(text)).toBe(text)
})
