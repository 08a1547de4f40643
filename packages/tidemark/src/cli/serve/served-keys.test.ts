import { EMULATOR_KEY } from '@tidemark/gateway'
import { EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import { expect, test } from 'vitest'
import { frontPolicies, includesWellKnownKey } from './served-keys.ts'

const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const ALL = ['Listen', 'Send', 'Manage']
const HERE = { host: '127.0.0.1', isForTests: false }
const EVERYWHERE = { host: '0.0.0.0', isForTests: true }

test('the keys that allow everything are those of the root policy, beside the others', () => {
  const worker = { name: 'worker', keys: [KEY.toLowerCase()], rights: ['Listen'] } as const
  const policies = frontPolicies({ readWrite: [KEY], readOnly: ['x'], policies: [worker] }, HERE)
  expect(policies).toEqual([
    { name: 'RootManageSharedAccessKey', keys: [KEY], rights: ALL },
    worker,
  ])
  expect(includesWellKnownKey(policies)).toBe(false)
})

test("for tests the emulator's key is accepted under any name, on loopback only", () => {
  const local = frontPolicies({ readWrite: [KEY] }, { ...HERE, isForTests: true })
  expect(local.at(-1)).toEqual({ name: undefined, keys: ['SAS_KEY_VALUE'], rights: ALL })
  expect(includesWellKnownKey(local)).toBe(true)
  expect(frontPolicies({ readWrite: [KEY] }, EVERYWHERE)).toHaveLength(1)
})

test.each([EMULATOR_KEY, EMULATOR_ACCESS_KEY])(
  'a key that everybody knows is refused off loopback: %s',
  (key) => {
    const policy = { name: 'worker', keys: [KEY, key], rights: ['Send'] } as const
    for (const keys of [{ readWrite: [key] }, { readWrite: [KEY], policies: [policy] }]) {
      expect(() => frontPolicies(keys, EVERYWHERE)).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
      )
      expect(includesWellKnownKey(frontPolicies(keys, HERE))).toBe(true)
    }
  },
)

test('a key that can be guessed is refused by the name of its policy, and not shown', () => {
  const refused = (): unknown =>
    frontPolicies(
      { readWrite: [KEY], policies: [{ name: 'worker', keys: ['secret'], rights: ['Send'] }] },
      HERE,
    )
  expect(refused).toThrow(/policy worker must have at least 16 characters/)
  expect(refused).not.toThrow(/secret/)
})
