import { expect, test } from 'vitest'
import { storeError } from './sqlite-error.ts'

function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { errcode })
}

test('a file that the user cannot write is no passing trouble: the message says what is needed', () => {
  const error = storeError(sqliteError(8, 'attempt to write a readonly database'), 'catalog.sqlite')
  expect(error).toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
    message:
      'catalog.sqlite cannot be written; this user must be able to write to it, also to read: attempt to write a readonly database',
  })
})
