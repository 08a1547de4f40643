import { expect, test } from 'vitest'
import { runSchedule, type Schedule } from '@tidemark/testing/simulation'

// Oracles objected to these once, in some 10,000 to 100,000 schedules; see the README.

const SETTINGS: Schedule['settings'] = {
  checkpointFrequency: 'everyBatch',
  maxConcurrentKeys: 1,
  failurePolicy: 'retryForever',
  watchdog: false,
}

const WORLDS: readonly { readonly shows: string; readonly schedule: Schedule }[] = [
  {
    shows: 'LE-4 I1 a lease store that goes back in time twice ends no session too early (O1)',
    schedule: {
      seed: 974_831_711,
      store: 'model',
      hosts: 5,
      settings: SETTINGS,
      ranges: 2,
      commits: 41,
      faultsForMs: 15_709,
      faults: [
        { atMs: 3041, kind: 'pause', forMs: 1016 },
        { atMs: 8249, kind: 'storeRollback', lostMs: 1978 },
        { atMs: 10_091, kind: 'storeRollback', lostMs: 1414 },
        { atMs: 12_435, kind: 'kill', host: 4 },
      ],
    },
  },
  {
    shows: 'LE-4 I1 nor does one that goes back beyond the last answer of a host (O1)',
    schedule: {
      seed: 310_009_170,
      store: 'model',
      hosts: 5,
      settings: SETTINGS,
      ranges: 4,
      commits: 10,
      faultsForMs: 24_017,
      faults: [
        { atMs: 2754, kind: 'suspend', host: 2, forMs: 3373 },
        { atMs: 3509, kind: 'kill', host: 3, restartMs: 2855 },
        { atMs: 11_401, kind: 'kill', host: 0, restartMs: 527 },
        { atMs: 18_562, kind: 'restart', host: 5 },
        { atMs: 20_726, kind: 'storeRollback', lostMs: 1625 },
        { atMs: 23_247, kind: 'kill', host: 0 },
      ],
    },
  },
  {
    shows: 'TTL-14 a position that an operator wrote over was on disk before (O2)',
    schedule: {
      seed: 71,
      store: 'documents',
      hosts: 2,
      settings: { ...SETTINGS, maxConcurrentKeys: 4 },
      ranges: 6,
      commits: 103,
      faultsForMs: 12_000,
      faults: [
        { atMs: 1600, kind: 'link', host: 2, way: 'both', lost: 0.3, delayMs: 100, forMs: 10_000 },
        { atMs: 1707, kind: 'seek', range: 0, byLsn: 2 },
      ],
    },
  },
  {
    shows: 'PH-14 where loads differ by just the tolerance, one lease moves late (O13)',
    schedule: {
      seed: 310_009_373,
      store: 'model',
      hosts: 3,
      settings: { ...SETTINGS, balanceBy: 'load' },
      ranges: 4,
      commits: 54,
      faultsForMs: 60_989,
      faults: [
        { atMs: 38_806, kind: 'join' },
        { atMs: 40_449, kind: 'leave', host: 0 },
        { atMs: 54_214, kind: 'leave', host: 0 },
        { atMs: 56_930, kind: 'join' },
      ],
      steadyForMs: 305_000,
    },
  },
  {
    shows:
      'PH-15 LE-4 an observer gets no other change of its batch once its session has run out (O6)',
    schedule: {
      seed: 235562857,
      store: 'model',
      hosts: 4,
      settings: { ...SETTINGS, observer: 'one' },
      ranges: 4,
      commits: 89,
      faultsForMs: 15994,
      faults: [
        { atMs: 1621, kind: 'restart', host: 2 },
        { atMs: 6651, kind: 'suspend', host: 1, forMs: 7308 },
        { atMs: 7450, kind: 'stop', host: 2, forMs: 1311 },
        { atMs: 8768, kind: 'suspend', host: 2, forMs: 9113 },
        { atMs: 10423, kind: 'storeRollback', lostMs: 1020 },
        { atMs: 12638, kind: 'storePause', forMs: 1120 },
      ],
    },
  },
  {
    shows:
      'PH-15 PH-11 a range that is split while its host waits for the change in hand repeats nothing (O9)',
    schedule: {
      seed: 2_611_292_417,
      store: 'model',
      hosts: 5,
      settings: {
        ...SETTINGS,
        checkpointFrequency: { everyMs: 1423 },
        watchdog: true,
        observer: 'one',
      },
      ranges: 6,
      commits: 43,
      faultsForMs: 18_683,
      faults: [
        { atMs: 10_104, kind: 'hang', host: 4, deaf: false },
        { atMs: 16_856, kind: 'pause', forMs: 601 },
        { atMs: 17_655, kind: 'split', range: 7 },
      ],
    },
  },
]

for (const { shows, schedule } of WORLDS) {
  test(shows, async () => {
    const { violation, faults } = await runSchedule(schedule)
    expect(violation).toBeUndefined()
    expect(faults).toHaveLength(schedule.faults.length)
  })
}
