import { systemClock as clock, systemRandom as random } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { resolveConnectionOptions, type ConnectionOptions } from './connection-options.ts'

const url = 'postgres://user:secret@host:5432/database'
const resolve = (options: Partial<ConnectionOptions>) =>
  resolveConnectionOptions({ clock, random, ...options })
const INVALID = expect.objectContaining({ code: 'ERR_INVALID_OPTION' })

test('a URL alone is enough', () => {
  expect(resolve({ url })).toMatchObject({
    primary: url,
    replica: undefined,
    maxConnections: 10,
    statementTimeoutMs: 30_000,
    connectTimeoutMs: 5_000,
    outageTimeoutMs: 30_000,
    idleInTransactionTimeoutMs: 5_000,
    preparedStatements: true,
    applicationName: 'tidemark',
  })
})

test('options that contradict each other or make no sense are refused', () => {
  const pool = {
    connect: () => Promise.reject(new Error('not called')),
    end: () => Promise.resolve(),
    on: () => {},
    removeListener: () => {},
  }
  expect(() => resolve({})).toThrow(INVALID)
  expect(() => resolve({ url, pool })).toThrow(INVALID)
  expect(() => resolve({ url, replicaUrl: url, replicaPool: pool })).toThrow(INVALID)
  expect(() => resolve({ pool: { ...pool, options: { binary: true } } })).toThrow(INVALID)
  expect(() => resolve({ url, maxConnections: 0 })).toThrow(INVALID)
  expect(() => resolve({ url, statementTimeoutMs: 0 })).toThrow(INVALID)
  expect(() => resolve({ url, connectTimeoutMs: Number.NaN })).toThrow(INVALID)
  expect(() => resolve({ url, outageTimeoutMs: -1 })).toThrow(INVALID)
  expect(resolve({ pool, outageTimeoutMs: 0 })).toMatchObject({ primary: pool })
})

test('a refused URL is not repeated: it holds a password', () => {
  for (const bad of ['postgres://user:se/cret@host/database', 'mysql://user:secret@host/x']) {
    const error = expect.not.objectContaining({ message: expect.stringContaining('cret') })
    expect(() => resolve({ url: bad })).toThrow(error)
    expect(() => resolve({ url: bad })).toThrow(
      expect.not.objectContaining({ cause: expect.anything() }),
    )
  }
})
