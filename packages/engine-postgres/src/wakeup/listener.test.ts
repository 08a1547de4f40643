import { expect, test, vi } from 'vitest'
import type { PostgresClient, PostgresPool } from '../connection/postgres-pool.ts'
import { Listener } from './listener.ts'

test('a connection of a pool that comes after the end of its listener is ended, not kept', async () => {
  const release = vi.fn<(destroy?: boolean | Error) => void>()
  const client = { on: vi.fn<() => void>(), release } as unknown as PostgresClient
  const connecting = Promise.withResolvers<PostgresClient>()
  const pool = { connect: () => connecting.promise } as unknown as PostgresPool
  const place = { from: pool, connectTimeoutMs: 100, applicationName: 'test' }
  const listener = new Listener(place, () => {})
  const connected = listener.connect()
  const ended = listener.end()
  expect(release).not.toHaveBeenCalled()
  connecting.resolve(client)
  await Promise.all([connected, ended])
  expect(release.mock.calls).toEqual([[true]])
})

test('the end of a listener that was never connected is quiet', async () => {
  const pool = { connect: () => Promise.reject(new Error('down')) } as unknown as PostgresPool
  const listener = new Listener(
    { from: pool, connectTimeoutMs: 100, applicationName: 'test' },
    () => {},
  )
  await expect(listener.connect()).rejects.toThrow('down')
  await expect(listener.end()).resolves.toBeUndefined()
})
