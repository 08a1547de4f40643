import { expect, test } from 'vitest'
import { resolveNamespace } from './namespace.ts'

test('a namespace is Standard, has no lock, and the bounds of the service', () => {
  expect(resolveNamespace()).toEqual({
    tier: 'Standard',
    resourceLock: undefined,
    limits: {
      minAutoDeleteOnIdleMs: 300_000,
      minLockDurationMs: 5000,
      minDuplicateWindowMs: 20_000,
    },
  })
})

test('lower bounds can be lowered', () => {
  const { limits } = resolveNamespace({
    limits: {
      minAutoDeleteOnIdle: 'PT1S',
      minLockDuration: 100,
      minDuplicateDetectionHistoryTimeWindow: 'PT0.5S',
    },
  })
  expect(limits).toEqual({
    minAutoDeleteOnIdleMs: 1000,
    minLockDurationMs: 100,
    minDuplicateWindowMs: 500,
  })
})

test('what options do not give stays as the namespace has it', () => {
  const base = resolveNamespace({
    tier: 'Premium',
    resourceLock: 'CanNotDelete',
    limits: { minAutoDeleteOnIdle: 1000, minLockDuration: 100 },
  })
  expect(resolveNamespace({ limits: { minLockDuration: 200 } }, base)).toEqual({
    ...base,
    limits: { ...base.limits, minLockDurationMs: 200 },
  })
})

test.each([
  [{ tier: 'Gold' }, 'tier must be "Basic" or "Standard" or "Premium", got "Gold"'],
  [{ resourceLock: 'ReadOnly' }, 'resourceLock must be "CanNotDelete", got "ReadOnly"'],
  [{ limits: 5 }, 'limits must be an object of options, got 5'],
  [
    { limits: { minLockDuraton: 5 } },
    'there is no option limits.minLockDuraton; did you mean limits.minLockDuration?',
  ],
  [
    { limits: { minLockDuration: true } },
    'limits.minLockDuration must be a duration, such as "PT1M30S", got true',
  ],
  [
    { limits: { minLockDuration: 'PT6S' } },
    'limits.minLockDuration must be PT0.001S to PT5S, got "PT6S"',
  ],
  [
    { limits: { minAutoDeleteOnIdle: 0 } },
    'limits.minAutoDeleteOnIdle must be PT0.001S to PT5M, got 0',
  ],
  [
    { limits: { minDuplicateDetectionHistoryTimeWindow: '20' } },
    'limits.minDuplicateDetectionHistoryTimeWindow must be a duration of ISO 8601, such as "PT1M30S", got "20"',
  ],
])('refuses %j', (options, message) => {
  expect(() => resolveNamespace(options as never)).toThrow(message)
})
