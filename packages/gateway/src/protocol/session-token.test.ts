import { expect, test } from 'vitest'
import { parseSessionToken, sessionToken } from './session-token.ts'

test('CF-15 a session token is read as it was written', () => {
  expect([...parseSessionToken(sessionToken(3, 17))]).toEqual([[3, 17]])
})

test.each([
  ['0:-1#12', [[0, 12]]],
  [
    '0:1#9#4=8#5=7,12:-1#3',
    [
      [0, 9],
      [12, 3],
    ],
  ],
  ['0:5', [[0, 5]]],
  ['0:-1#5,0:-1#4', [[0, 5]]],
  ['', []],
  ['nonsense', []],
  ['0:-1#99999999999999999999', []],
])('CF-15 token %j says %j', (text, progress) => {
  expect([...parseSessionToken(text)]).toEqual(progress)
})
