import { errorCode } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { dialectOf } from './detect-dialect.ts'

test.each([
  ['PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu', false, 'postgres'],
  ['PostgreSQL 16.4 on aarch64-unknown-linux-gnu', true, 'aurora'],
  ['PostgreSQL 15.12-YB-2025.1.0.0-b0 on x86_64-pc-linux-gnu', false, 'yugabyte'],
])('%s, aurora: %s, is %s', (version, isAurora, name) => {
  expect(dialectOf(version, { isAurora }).name).toBe(name)
})

test('a timeline is asked for only where a fail-over may lose commits', () => {
  expect(dialectOf('PostgreSQL 15.18', { isAurora: false }).timeline).toContain('pg_walfile_name')
  expect(dialectOf('PostgreSQL 15.18', { isAurora: true }).timeline).toBe('0')
})

test('a server that lacks what a store needs is refused by name', () => {
  const refused = (): unknown => dialectOf('CockroachDB CCL v24.3.1', { isAurora: false })
  expect(refused).toThrow(/CockroachDB CCL v24\.3\.1/)
  try {
    refused()
  } catch (error) {
    expect(errorCode(error)).toBe('ERR_SERVER_UNSUPPORTED')
  }
})
