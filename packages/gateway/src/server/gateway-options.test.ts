import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { EMULATOR_KEY } from '@tidemark/contracts/internal'
import { createGateway } from './gateway.ts'
import type { GatewayOptions } from './gateway-options.ts'
import { startGateway, type StartGatewayOptions } from './start-gateway.ts'

const SECRET = 'c2VjcmV0IG9mIHRoZSBob3VzZQ=='

/** What both say of options as a program without types gives them. */
const ofGateway: [object, string][] = [
  [{ maxBodyByte: 1024 }, 'there is no option maxBodyByte; did you mean maxBodyBytes?'],
  [{ maxBodyBytes: '4 MiB' }, 'maxBodyBytes must be a number, got "4 MiB"'],
  [{ requestUnitsPerRange: '400' }, 'requestUnitsPerRange must be a number, got "400"'],
  [{ onRequest: true }, 'onRequest must be a function, got true'],
  [
    { queryLimits: { maxPageStep: 5 } },
    'there is no option queryLimits.maxPageStep; did you mean queryLimits.maxPageSteps?',
  ],
  [{ store: undefined }, 'store must be an open store, got undefined'],
  [
    { store: Promise.resolve() },
    'store must be an open store, got a promise (is an await missing?)',
  ],
  [
    { keys: { readWrite: [SECRET], readOnyl: [] } },
    'there is no option keys.readOnyl; did you mean keys.readOnly?',
  ],
  // A key stays out of the message.
  [{ keys: SECRET }, 'keys must be an object of options, got a text'],
  [{ keys: { readWrite: SECRET } }, 'keys.readWrite must be a list of texts, got a text'],
]

const ofServer: [object, string][] = [
  [{ prot: 8081 }, 'there is no option prot; did you mean port?'],
  [{ port: '8081' }, 'port must be a whole number from 0 to 65535, got "8081"'],
  [{ insecureHttp: 'yes' }, 'insecureHttp must be true or false, got "yes"'],
  [{ tls: { cret: 'x', key: 'y' } }, 'there is no option tls.cret; did you mean tls.cert?'],
  [{ tls: { cert: 'x', key: 5 } }, 'tls.key must be PEM text, got 5'],
]

test.each(ofGateway)('createGateway refuses %o', async (given, message) => {
  await using store = await openMemoryStore()
  const options = { store, keys: { readWrite: [SECRET] }, ...given } as GatewayOptions
  expect(() => createGateway(options)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', message }),
  )
})

test.each([...ofGateway, ...ofServer])('startGateway refuses %o', async (given, message) => {
  await using store = await openMemoryStore()
  const options = { store, keys: { readWrite: [SECRET] }, port: 0, ...given }
  const refused = startGateway(options as StartGatewayOptions)
  await expect(refused).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION', message })
})

test('createGateway knows no options of a socket', async () => {
  await using store = await openMemoryStore()
  const options = { store, keys: { readWrite: [EMULATOR_KEY] }, port: 0 } as GatewayOptions
  expect(() => createGateway(options)).toThrow('there is no option port')
})

test('keys that take the place of others are checked the same', async () => {
  await using store = await openMemoryStore()
  await using gateway = await startGateway({ store, keys: { readWrite: [SECRET] }, port: 0 })
  const keys = { readWrite: [SECRET], readonly: [SECRET] }
  expect(() => gateway.replaceKeys(keys)).toThrow(
    'there is no option keys.readonly; did you mean keys.readOnly?',
  )
})
