import { expect, test } from 'vitest'
import { postgresLocation, refuseOtherUrl } from './postgres-location.ts'

test.each(['./data', 'data', '/var/lib/postgres', 'postgres', 'C:\\postgres', 'http://host/x'])(
  '%s is not a URL of PostgreSQL',
  (text) => {
    expect(postgresLocation(text)).toBeUndefined()
  },
)

test.each([
  ['postgres://host/shop', 'postgres://host/shop', undefined],
  ['postgresql://u:p%40ss@host:5433/shop?sslmode=require', undefined, undefined],
  ['postgres://u:p%40ss@host/shop?schema=a%20b', 'postgres://u:p%40ss@host/shop', 'a b'],
  ['postgres://host/shop?schema=x&sslmode=require', 'postgres://host/shop?sslmode=require', 'x'],
  ['postgres:///shop?host=/run/postgresql', undefined, undefined],
])('%s is one, and names its schema', (text, url, schema) => {
  expect(postgresLocation(text)).toEqual({ url: url ?? text, schema })
})

test.each(['postgres:shop', 'postgres:/host/shop', 'postgres://user:secret@:::/x'])(
  'a mistake in %s is told without the password',
  (text) => {
    const seen = expect.objectContaining({
      code: 'ERR_INVALID_OPTION',
      message: expect.not.stringContaining('secret') as string,
    }) as Error
    expect(() => postgresLocation(text)).toThrow(seen)
  },
)

test.each([
  'postgre://user:secret@host/x',
  'postgres//user:secret@host/x',
  '//user:secret@host',
  'postgres//user:secret x@host/db',
])('%s does not become the name of a folder', (text) => {
  const seen = expect.objectContaining({
    code: 'ERR_INVALID_OPTION',
    message: expect.not.stringContaining('secret') as string,
  }) as Error
  expect(() => refuseOtherUrl(text)).toThrow(seen)
})

test.each(['./data', '/var//lib/data', 'data/a:b@c', 'C:\\data', './data/pwd=1', '/me/x://y@z'])(
  '%s is a folder',
  (text) => {
    expect(() => refuseOtherUrl(text)).not.toThrow()
  },
)
