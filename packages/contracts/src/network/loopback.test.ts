import { expect, test } from 'vitest'
import { isLoopbackAddress, isLoopbackHost, isLoopbackOrigin } from './loopback.ts'

const LOCAL = ['localhost', 'LOCALHOST', '127.0.0.1', '127.8.9.10']
const FOREIGN = [
  '',
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'evil-localhost',
  'localhost.',
  '.localhost',
  '0.0.0.0',
  '192.168.0.1',
  '128.0.0.1',
  'tidemark',
  'localhost\nevil.example',
]

test.each(LOCAL)('%s is loopback: as an address, a host and an origin', (name) => {
  expect(isLoopbackAddress(name)).toBe(true)
  for (const host of [name, `${name}:8081`]) {
    expect(isLoopbackHost(host)).toBe(true)
    expect(isLoopbackOrigin(`http://${host}`)).toBe(true)
    expect(isLoopbackOrigin(`https://${host}`)).toBe(true)
  }
})

test.each(FOREIGN)('%j is not loopback', (name) => {
  expect(isLoopbackAddress(name)).toBe(false)
  for (const host of [name, `${name}:8081`]) {
    expect(isLoopbackHost(host)).toBe(false)
    expect(isLoopbackOrigin(`http://${host}`)).toBe(false)
  }
})

test('an address of IPv6 stands in brackets in a host and an origin', () => {
  expect([isLoopbackAddress('::1'), isLoopbackHost('[::1]:8081')]).toEqual([true, true])
  expect(isLoopbackOrigin('http://[::1]:3000')).toBe(true)
  expect([isLoopbackAddress('::'), isLoopbackHost('[::2]'), isLoopbackHost('::1')]).not.toContain(
    true,
  )
})

test('names below localhost are hosts, but nothing to listen at: a resolver may give them any address', () => {
  expect([isLoopbackHost('db.localhost:1'), isLoopbackAddress('db.localhost')]).toEqual([
    true,
    false,
  ])
})

test.each(['null', 'file://', 'localhost', 'http://localhost@evil.example', 'http://localhost/a'])(
  'the origin %s is foreign',
  (origin) => {
    expect(isLoopbackOrigin(origin)).toBe(false)
  },
)
