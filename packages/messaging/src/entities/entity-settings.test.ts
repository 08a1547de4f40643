import type { EntitySettings } from '@tidemark/store/messages'
import { expect, test } from 'vitest'
import { MAX_DURATION } from './duration.ts'
import { readSettings, type AnyEntityOptions, type SettingsPlace } from './entity-settings.ts'
import { resolveNamespace, type NamespaceOptions } from './namespace.ts'

const DEFAULTS: EntitySettings = {
  lockDurationMs: 60_000,
  maxDeliveryCount: 10,
  defaultTtlMs: undefined,
  deadLettersExpired: false,
  deadLettersFilterErrors: false,
  requiresSession: false,
  duplicateWindowMs: undefined,
  autoDeleteOnIdleMs: undefined,
  forwardTo: undefined,
  forwardDeadLettersTo: undefined,
  maxBytes: 1_073_741_824,
  maxMessageBytes: 1_048_576,
  status: 'Active',
  userMetadata: '',
}

interface Place {
  readonly kind?: SettingsPlace['kind']
  readonly current?: EntitySettings
  readonly namespace?: NamespaceOptions
}

function read(
  options: AnyEntityOptions,
  { kind = 'queue', current, namespace }: Place = {},
): { readonly settings: EntitySettings; readonly problems: readonly string[] } {
  const problems: string[] = []
  const settings = readSettings(options, {
    kind,
    path: 'orders',
    namespace: resolveNamespace(namespace),
    current,
    report: (option, problem) => problems.push(`${option} ${problem}`),
  })
  return { settings, problems }
}

function readWell(options: AnyEntityOptions, place?: Place): EntitySettings {
  const { settings, problems } = read(options, place)
  expect(problems).toEqual([])
  return settings
}

test('without options, an entity has the defaults of section 12', () => {
  expect(readWell({})).toEqual(DEFAULTS)
  expect(readWell({}, { kind: 'topic' })).toEqual(DEFAULTS)
})

test('a subscription keeps messages whose filter fails', () => {
  expect(readWell({}, { kind: 'subscription' })).toEqual({
    ...DEFAULTS,
    deadLettersFilterErrors: true,
  })
})

test('every option has its setting', () => {
  const settings = readWell({
    lockDuration: 'PT30S',
    maxDeliveryCount: 3,
    defaultMessageTimeToLive: 'P100D',
    deadLetteringOnMessageExpiration: true,
    deadLetteringOnFilterEvaluationExceptions: true,
    requiresSession: true,
    requiresDuplicateDetection: true,
    duplicateDetectionHistoryTimeWindow: 'PT20S',
    autoDeleteOnIdle: 'PT5M',
    forwardDeadLetteredMessagesTo: 'dead',
    maxSizeInMegabytes: 1,
    maxMessageSizeInKilobytes: 256,
    status: 'SendDisabled',
    userMetadata: 'mine',
  })
  expect(settings).toEqual({
    lockDurationMs: 30_000,
    maxDeliveryCount: 3,
    defaultTtlMs: 8_640_000_000,
    deadLettersExpired: true,
    deadLettersFilterErrors: true,
    requiresSession: true,
    duplicateWindowMs: 20_000,
    autoDeleteOnIdleMs: 300_000,
    forwardTo: undefined,
    forwardDeadLettersTo: 'dead',
    maxBytes: 1_048_576,
    maxMessageBytes: 262_144,
    status: 'SendDisabled',
    userMetadata: 'mine',
  })
})

const ACCEPTED: readonly (readonly [AnyEntityOptions, Partial<EntitySettings>])[] = [
  [{ lockDuration: 'PT5S' }, { lockDurationMs: 5000 }],
  [{ lockDuration: 300_000 }, { lockDurationMs: 300_000 }],
  [{ maxDeliveryCount: 1 }, { maxDeliveryCount: 1 }],
  [{ maxDeliveryCount: 2_147_483_647 }, { maxDeliveryCount: 2_147_483_647 }],
  [{ defaultMessageTimeToLive: 1 }, { defaultTtlMs: 1 }],
  [{ defaultMessageTimeToLive: MAX_DURATION }, { defaultTtlMs: undefined }],
  [{ autoDeleteOnIdle: MAX_DURATION }, { autoDeleteOnIdleMs: undefined }],
  [{ requiresDuplicateDetection: true }, { duplicateWindowMs: 600_000 }],
  [
    { requiresDuplicateDetection: true, duplicateDetectionHistoryTimeWindow: 'P7D' },
    { duplicateWindowMs: 604_800_000 },
  ],
  [{ duplicateDetectionHistoryTimeWindow: 'PT20S' }, { duplicateWindowMs: undefined }],
  [
    { forwardTo: '', forwardDeadLetteredMessagesTo: '' },
    { forwardTo: undefined, forwardDeadLettersTo: undefined },
  ],
  [{ maxSizeInMegabytes: 1_048_576 }, { maxBytes: 2 ** 40 }],
]

test.each(ACCEPTED)('accepts %j', (options, expected) => {
  expect(readWell(options)).toEqual({ ...DEFAULTS, ...expected })
  expect(readWell(options, { current: { ...DEFAULTS, ...sameKind(expected) } })).toEqual({
    ...DEFAULTS,
    ...expected,
  })
})

/** What cannot change is there before. */
function sameKind({ duplicateWindowMs }: Partial<EntitySettings>): Partial<EntitySettings> {
  return { duplicateWindowMs: duplicateWindowMs === undefined ? undefined : 600_000 }
}

const REFUSED: readonly (readonly [AnyEntityOptions, string])[] = [
  [{ lockDuration: 'PT4.999S' }, 'lockDuration must be PT5S to PT5M, got "PT4.999S"'],
  [{ lockDuration: 300_001 }, 'lockDuration must be PT5S to PT5M, got 300001'],
  [{ lockDuration: MAX_DURATION }, `lockDuration must be PT5S to PT5M, got "${MAX_DURATION}"`],
  [
    { lockDuration: '1m' },
    'lockDuration must be a duration of ISO 8601, such as "PT1M30S", got "1m"',
  ],
  [{ maxDeliveryCount: 0 }, 'maxDeliveryCount must be an integer from 1 to 2147483647, got 0'],
  [{ maxDeliveryCount: 1.5 }, 'maxDeliveryCount must be an integer from 1 to 2147483647, got 1.5'],
  [
    { maxDeliveryCount: 2 ** 31 },
    'maxDeliveryCount must be an integer from 1 to 2147483647, got 2147483648',
  ],
  [{ defaultMessageTimeToLive: 0 }, 'defaultMessageTimeToLive must be at least PT0.001S, got 0'],
  [{ autoDeleteOnIdle: 'PT4M59S' }, 'autoDeleteOnIdle must be at least PT5M, got "PT4M59S"'],
  [
    { requiresDuplicateDetection: true, duplicateDetectionHistoryTimeWindow: 'PT19S' },
    'duplicateDetectionHistoryTimeWindow must be PT20S to P7D, got "PT19S"',
  ],
  [
    { requiresDuplicateDetection: true, duplicateDetectionHistoryTimeWindow: 'P8D' },
    'duplicateDetectionHistoryTimeWindow must be PT20S to P7D, got "P8D"',
  ],
  [
    { duplicateDetectionHistoryTimeWindow: 'PT1S' },
    'duplicateDetectionHistoryTimeWindow must be PT20S to P7D, got "PT1S"',
  ],
  [{ maxSizeInMegabytes: 0 }, 'maxSizeInMegabytes must be an integer from 1 to 1048576, got 0'],
  [
    { maxMessageSizeInKilobytes: 102_401 },
    'maxMessageSizeInKilobytes must be an integer from 1 to 102400, got 102401',
  ],
]

test.each(REFUSED)('refuses %j at creation and at change', (options, problem) => {
  expect(read(options).problems).toEqual([problem])
  const { requiresDuplicateDetection = false } = options
  const current = {
    ...DEFAULTS,
    duplicateWindowMs: requiresDuplicateDetection ? 600_000 : undefined,
  }
  expect(read(options, { current }).problems).toEqual([problem])
})

test('your own text may have 1024 characters', () => {
  expect(readWell({ userMetadata: 'x'.repeat(1024) }).userMetadata).toHaveLength(1024)
  expect(read({ userMetadata: 'x'.repeat(1025) }).problems).toEqual([
    'userMetadata must have at most 1024 characters, got 1025',
  ])
})

test('sessions and forwarding exclude each other, whichever comes first', () => {
  const problem = 'forwardTo cannot stand beside requiresSession: true'
  expect(read({ forwardTo: 'b', requiresSession: true }).problems).toEqual([problem])
  const current = { ...DEFAULTS, requiresSession: true }
  expect(read({ forwardTo: 'b' }, { current }).problems).toEqual([problem])
})

test('all that is wrong is reported at once', () => {
  expect(read({ lockDuration: 1, maxDeliveryCount: 0, autoDeleteOnIdle: 1 }).problems).toEqual([
    'lockDuration must be PT5S to PT5M, got 1',
    'maxDeliveryCount must be an integer from 1 to 2147483647, got 0',
    'autoDeleteOnIdle must be at least PT5M, got 1',
  ])
})

test('limits of the namespace lower the bounds', () => {
  const namespace = {
    limits: {
      minLockDuration: 100,
      minAutoDeleteOnIdle: 200,
      minDuplicateDetectionHistoryTimeWindow: 300,
    },
  }
  const options = {
    lockDuration: 100,
    autoDeleteOnIdle: 200,
    requiresDuplicateDetection: true,
    duplicateDetectionHistoryTimeWindow: 300,
  }
  expect(readWell(options, { namespace })).toMatchObject({
    lockDurationMs: 100,
    autoDeleteOnIdleMs: 200,
    duplicateWindowMs: 300,
  })
  expect(read({ lockDuration: 99 }, { namespace }).problems).toEqual([
    'lockDuration must be PT0.1S to PT5M, got 99',
  ])
})

test('EXP-23 in tier Basic, the default and maximum TTL are 14 days', () => {
  const namespace = { tier: 'Basic' } as const
  expect(readWell({}, { namespace }).defaultTtlMs).toBe(1_209_600_000)
  expect(readWell({ defaultMessageTimeToLive: MAX_DURATION }, { namespace }).defaultTtlMs).toBe(
    1_209_600_000,
  )
  expect(readWell({ defaultMessageTimeToLive: 'P1D' }, { namespace }).defaultTtlMs).toBe(86_400_000)
  expect(read({ defaultMessageTimeToLive: 'P15D' }, { namespace }).problems).toEqual([
    'defaultMessageTimeToLive must be PT0.001S to P14D, got "P15D"',
  ])
})

test('a change leaves what it does not name, also where the bounds are others now', () => {
  const current: EntitySettings = {
    lockDurationMs: 100,
    maxDeliveryCount: 3,
    defaultTtlMs: 5,
    deadLettersExpired: true,
    deadLettersFilterErrors: true,
    requiresSession: false,
    duplicateWindowMs: 300,
    autoDeleteOnIdleMs: 200,
    forwardTo: 'b',
    forwardDeadLettersTo: 'c',
    maxBytes: 1_048_576,
    maxMessageBytes: 1024,
    status: 'Disabled',
    userMetadata: 'mine',
  }
  expect(readWell({}, { current })).toEqual(current)
  expect(readWell({ userMetadata: '', forwardTo: undefined }, { current })).toEqual({
    ...current,
    userMetadata: '',
  })
})

test.each([
  [{ requiresSession: true }, 'requiresSession cannot change after creation'],
  [{ requiresDuplicateDetection: true }, 'requiresDuplicateDetection cannot change after creation'],
])('refuses to change %j', (options, problem) => {
  expect(read(options, { current: DEFAULTS }).problems).toEqual([problem])
})

test('what cannot change may be named with the value that it has', () => {
  const current = { ...DEFAULTS, requiresSession: true, duplicateWindowMs: 30_000 }
  expect(
    readWell({ requiresSession: true, requiresDuplicateDetection: true }, { current }),
  ).toEqual(current)
})
