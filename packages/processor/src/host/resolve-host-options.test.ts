import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { errorCode, type LeaseStore } from '@tidemark/contracts'
import { FakeFeed, SimulatedClock } from '@tidemark/testing'
import { MemoryLeaseStore } from '../lease-stores/memory-lease-store.ts'
import { DocumentLeaseStore } from '../lease-stores/documents/document-lease-store.ts'
import { DocumentDeadLetters } from '../dead-letters/document-dead-letters.ts'
import { ChangeFeedEstimator } from '../estimation/change-feed-estimator.ts'
import { ProcessorGroup } from '../administration/processor-group.ts'
import { ChangeFeedProcessorHost } from './change-feed-processor-host.ts'
import { cosmosDefaults, type FeedOptions, type HostOptions } from './host-options.ts'
import { resolveHostOptions, startPosition } from './resolve-host-options.ts'

const clock = new SimulatedClock()
const feed = new FakeFeed({ clock })
const leases = new MemoryLeaseStore({ clock })

function resolve(
  hostOptions: HostOptions = {},
  feedOptions: FeedOptions = {},
): ReturnType<typeof resolveHostOptions> {
  return resolveHostOptions({ hostName: 'a', group: 'g', feed, leases, hostOptions, feedOptions })
}

/** The error that a construction throws. */
function refusal(make: () => unknown): { code: string | undefined; message: string } {
  try {
    make()
  } catch (error) {
    return { code: errorCode(error), message: String(error) }
  }
  throw new Error('was accepted')
}

test('PH-6 defaults', () => {
  expect(resolve()).toMatchObject({
    leaseRenewIntervalMs: 2_000,
    leaseExpirationIntervalMs: 8_000,
    leaseAcquireIntervalMs: 2_000,
    checkpointFrequency: 'everyBatch',
    maxUnstoredBatches: 2,
    minPartitionCount: 0,
    weight: 1,
    maxConcurrentObservers: 32,
    readAheadPages: 1,
    handoffTimeoutMs: 30_000,
    shutdownTimeoutMs: 30_000,
    abortGraceMs: 5_000,
    startTimeoutMs: 30_000,
    leaseStoreTimeoutMs: 2_000,
    start: 'now',
    maxItemCount: 100,
  })
})

test('PH-6 what doc comments call the default is the default', () => {
  const sources = ['host-options.ts', '../feed-processing/pump-options.ts']
  const text = sources.map((path) => readFileSync(new URL(path, import.meta.url), 'utf8')).join()
  const resolved = resolve()
  const { failurePolicy } = resolved
  const defaults = { ...failurePolicy, ...resolved, failurePolicy: failurePolicy.mode }
  const documented = text.matchAll(
    /@default (?<value>[\d_]+|'\w+'|true|false)(?:(?!\*\/)[^])*\*\/\n {2}(?<name>\w+)\?:/g,
  )
  const told = [...documented].map(({ groups }) => {
    const { name = '', value = '' } = groups ?? {}
    return [name, JSON.parse(value.replaceAll('_', '').replaceAll("'", '"'))] as const
  })
  expect(told.length).toBeGreaterThan(20)
  for (const [name, value] of told) {
    // It is the name of the group, which has one here.
    if (name !== 'leasePrefix') expect([name, Reflect.get(defaults, name)]).toEqual([name, value])
  }
})

test('PH-6 cosmosDefaults is accepted and has the numbers of the .NET library', () => {
  expect(resolve(cosmosDefaults)).toMatchObject({
    leaseRenewIntervalMs: 17_000,
    leaseExpirationIntervalMs: 60_000,
    leaseAcquireIntervalMs: 13_000,
    feedPollDelayMs: 5_000,
  })
})

test('PH-6 renewing at exactly half of the expiration is allowed, more is not', () => {
  resolve({ leaseRenewIntervalMs: 4_000 })
  expect(refusal(() => resolve({ leaseRenewIntervalMs: 4_001 })).code).toBe('ERR_INVALID_OPTION')
})

const refused: [string, HostOptions, FeedOptions?][] = [
  ['leaseRenewIntervalMs', { leaseRenewIntervalMs: 8_000 }],
  ['leaseRenewIntervalMs', { leaseRenewIntervalMs: 0 }],
  ['leaseRenewIntervalMs', { leaseRenewIntervalMs: Number.NaN }],
  ['leaseExpirationIntervalMs', { leaseExpirationIntervalMs: -1 }],
  ['leaseExpirationIntervalMs', { leaseExpirationIntervalMs: Infinity }],
  ['leaseAcquireIntervalMs', { leaseAcquireIntervalMs: 0 }],
  ['minPartitionCount', { minPartitionCount: 3, maxPartitionCount: 2 }],
  ['minPartitionCount', { minPartitionCount: -1 }],
  ['maxPartitionCount', { maxPartitionCount: 0 }],
  ['maxPartitionCount', { maxPartitionCount: 1.5 }],
  ['weight', { weight: 0 }],
  ['discardExistingLeases', { discardExistingLeases: '' }],
  ['discardExistingLeases', { discardExistingLeases: true as never }],
  ['maxConcurrentObservers', { maxConcurrentObservers: 0 }],
  ['readAheadPages', { readAheadPages: 0 }],
  ['feedPollDelayMs', { feedPollDelayMs: 0 }],
  ['retryDelayMs', { retryDelayMs: 2_000, retryMaxDelayMs: 1_000 }],
  ['handoffTimeoutMs', { handoffTimeoutMs: -1 }],
  ['shutdownTimeoutMs', { shutdownTimeoutMs: 1e12 }],
  ['startTimeoutMs', { startTimeoutMs: 0 }],
  ['leaseStoreTimeoutMs', { leaseStoreTimeoutMs: 0 }],
  ['checkpointFrequency', { checkpointFrequency: 'often' as never }],
  ['checkpointFrequency.everyChanges', { checkpointFrequency: { everyChanges: 0 } }],
  ['checkpointFrequency.everyMs', { checkpointFrequency: { everyMs: -5 } }],
  ['maxItemCount', {}, { maxItemCount: 0 }],
  ['maxItemCount', {}, { maxItemCount: -2 }],
  ['startTime', {}, { startTime: new Date(Number.NaN) }],
  ['partitionKeyRangeId', {}, { partitionKeyRangeId: '' }],
  ['leasePrefix', { leasePrefix: 'other' }],
  ['mode', {}, { mode: 'everything' as never }],
  ['onHorizonPassed', {}, { onHorizonPassed: 'ignore' as never }],
  ['onLeaseStoreLoss', { onLeaseStoreLoss: 'ignore' as never }],
]
test.each(refused)('PH-6 an impossible %s is refused by name: %j %j', (name, host, feedOptions) => {
  const { code, message } = refusal(() => resolve(host, feedOptions))
  expect(code).toBe('ERR_INVALID_OPTION')
  expect(message).toContain(name)
})

test('PH-6 an empty name of a host is refused', () => {
  const { message } = refusal(
    () => new ChangeFeedProcessorHost({ group: 'g', hostName: '', feed, leases }),
  )
  expect(message).toContain('hostName')
})

test('PH-6 a host without a name gets one that no other host has', () => {
  const names = [1, 2].map(() => new ChangeFeedProcessorHost({ group: 'g', feed, leases }).hostName)
  expect(new Set(names).size).toBe(2)
  for (const name of names) expect(name).toContain(`-${process.pid}-`)
})

describe('PH-6 what a program without types may give is refused by name when it is given', () => {
  const good = { hostName: 'a', group: 'g', feed, leases }
  test.each<[object, string]>([
    [{ leases }, 'feed must be a change feed'],
    [{ feed }, 'leases must be a lease store'],
    [{ ...good, leases: feed }, 'leases must be a lease store'],
    [{ ...good, feed: Promise.resolve(feed) }, 'is an await missing?'],
    [{ ...good, hostName: 5 }, 'hostName must be a text'],
    [{ ...good, feedOptions: { startTime: '2026-01-01' } }, 'feedOptions.startTime must be a Date'],
    [{ ...good, startFromBeginning: true }, 'did you mean feedOptions.startFromBeginning?'],
    [{ ...good, hostOptions: { maxBatch: 5 } }, 'did you mean hostOptions.maxBatchMs?'],
    [{ ...good, hostOptions: { maxBatchMs: '5' } }, 'hostOptions.maxBatchMs must be a number'],
    [{ ...good, hostOptions: { failurePolicy: { mode: 'haltRange', attempts: 3 } } }, 'attempts'],
    [{ ...good, deadLetters: {} }, 'deadLetters must be a function'],
    [
      { ...good, logger: true },
      'logger must be an object with functions debug, info, warn, error, or false',
    ],
    [{ ...good, clock: Date }, 'clock must be a clock'],
  ])('%o', (options, message) => {
    const refused = refusal(() => new ChangeFeedProcessorHost(options as typeof good))
    expect(refused.code).toBe('ERR_INVALID_OPTION')
    expect(refused.message).toContain(message)
  })

  test('by what looks at groups, and keeps leases and letters', () => {
    const made: (() => unknown)[] = [
      () => new ChangeFeedEstimator({ leases } as never),
      () => new ProcessorGroup({ leases: feed, group: 'g' } as never),
      () => new MemoryLeaseStore({ clok: clock } as never),
      () => new DocumentLeaseStore('leases' as never),
      () => new DocumentDeadLetters({} as never),
    ]
    for (const make of made) expect(refusal(make).code).toBe('ERR_INVALID_OPTION')
  })
})

describe('lost leases are made anew where the feed can tell where they stood', () => {
  const withoutPositions = Object.create(feed, { positions: { value: undefined } }) as FakeFeed
  test.each([
    ['keeps positions and makes continuations of them', feed, 'recover'],
    ['keeps no positions', withoutPositions, 'stop'],
    ['makes no continuations of positions', new FakeFeed({ clock, measuring: false }), 'stop'],
    [
      "has ranges whose children do not carry their parents' changes",
      new FakeFeed({ clock, childrenCarryParentChanges: false }),
      'stop',
    ],
  ] as const)('a feed that %s', (_what, source, policy) => {
    const options = { hostName: 'a', group: 'g', feed: source, leases }
    expect(resolveHostOptions(options).onLeaseStoreLoss).toBe(policy)
    const stop = { ...options, hostOptions: { onLeaseStoreLoss: 'stop' as const } }
    expect(resolveHostOptions(stop).onLeaseStoreLoss).toBe('stop')
    const recover = { ...options, hostOptions: { onLeaseStoreLoss: 'recover' as const } }
    if (policy === 'recover') resolveHostOptions(recover)
    else expect(refusal(() => resolveHostOptions(recover)).message).toContain('onLeaseStoreLoss')
  })
})

test('LE-2 the monitored collection itself is refused as lease store', () => {
  const own: LeaseStore = {
    description: 'own',
    collectionIdentity: feed.identity,
    openGroup: (name) => leases.openGroup(name),
    listGroups: () => leases.listGroups(),
  }
  const { code } = refusal(
    () => new ChangeFeedProcessorHost({ group: 'g', hostName: 'a', feed, leases: own }),
  )
  expect(code).toBe('ERR_LEASE_STORAGE')
})

test('a wait for the end of the feed takes no option that it does not know', async () => {
  const wrong = { timeout: 5 } as never
  const refused = { code: 'ERR_INVALID_OPTION', message: expect.stringContaining('timeoutMs?') }
  const host = new ChangeFeedProcessorHost({ group: 'g', feed, leases })
  await expect(host.runUntilCaughtUp(() => {}, wrong)).rejects.toMatchObject(refused)
  const estimator = new ChangeFeedEstimator({ group: 'g', feed, leases })
  await expect(estimator.untilCaughtUp(wrong)).rejects.toMatchObject(refused)
})

test('a group has a name, which leasePrefix may give as well', () => {
  const unnamed = { hostName: 'a', feed, leases }
  const host = (options: object): ChangeFeedProcessorHost =>
    new ChangeFeedProcessorHost({ ...unnamed, ...options } as never)
  expect(host({ group: 'p' }).group).toBe('p')
  expect(host({ hostOptions: { leasePrefix: 'p' } }).group).toBe('p')
  // Two services that both forget it would share what each needs all of.
  const unnamedHost = refusal(() => host({}))
  expect(unnamedHost.code).toBe('ERR_INVALID_OPTION')
  expect(unnamedHost.message).toContain('group is missing: name the processor group')
  const unnamedEstimator = refusal(() => new ChangeFeedEstimator(unnamed as never))
  expect(unnamedEstimator.code).toBe('ERR_INVALID_OPTION')
})

describe('CF-6 precedence of start positions', () => {
  const startContinuation = 'c'
  const startTime = new Date(5)
  const startFromBeginning = true
  test.each([
    [{ startContinuation, startTime, startFromBeginning }, { continuation: 'c' }],
    [{ startTime, startFromBeginning }, startTime],
    [{ startFromBeginning }, 'beginning'],
    [{ startFromBeginning: false }, 'now'],
    [{}, 'now'],
  ])('%j starts from %s', (options, start) => {
    expect(startPosition(options)).toEqual(start)
  })
})
