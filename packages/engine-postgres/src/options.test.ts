import { expect, test } from 'vitest'
import { resolveOptions } from './options.ts'

const url = 'postgres://user@host/db'

test.each(['', 'a:b', "it's", 'a$$b', 'a\0b', 'é'.repeat(32)])(
  'a schema that cannot be named everywhere is refused before anything is asked: %j',
  (schema) => {
    expect(() => resolveOptions({ url, schema })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
    )
  },
)

test('other names of schemas are taken, quoted', () => {
  for (const schema of ['Store 1', 'a"b', 'a$b', 'é'.repeat(31)]) {
    expect(resolveOptions({ url, schema }).schema).toBe(schema)
  }
})

test('what describes a store has no secrets', () => {
  const secret = 'postgres://user:se%63ret@host:1/db?password=secret&sslkey=secret'
  expect(resolveOptions({ url: secret }).description).not.toMatch(/se%?\w*ret/)
  expect(() => resolveOptions({ url: 'no url, but a secret' })).toThrow(/^(?!.*secret)/)
})
