import { describe, expect, test } from 'vitest'
import type { AgingTimes } from './aging.ts'
import type { CollectionDefinition, CollectionRecord } from './catalog.ts'
import { dueMaintenance, type MaintenanceFacts } from './due-maintenance.ts'
import { FULL_RANGE, partitionKeyDefinition } from '@tidemark/contracts'
import type { FoldableSegment } from './plan-fold.ts'

const SECOND = 1_800_000_000
const nowMs = SECOND * 1000
const RETENTION = 100

const DEFINITION: CollectionDefinition = {
  partitionKey: partitionKeyDefinition('/pk'),
  defaultTtl: 10,
  indexingMode: 'consistent',
  pendingDeletes: { retentionSeconds: RETENTION, waitFor: [] },
  allVersions: { retentionSeconds: RETENTION, previousImages: false },
  splitAboveBytes: null,
}

type Facts = MaintenanceFacts<FoldableSegment>

function recordOf(id: string, definition: Partial<CollectionDefinition> = {}): CollectionRecord {
  const rest = { number: 1, rid: '', ttlEras: [], etag: '', ts: 0 }
  return { ...rest, id, definition: { ...DEFINITION, ...definition } }
}

function facts(
  given: Partial<Facts> = {},
  definition: Partial<CollectionDefinition> = {},
  id = 'items',
): Facts {
  return {
    record: recordOf(id, definition),
    isReindexing: false,
    firstExpiry: undefined,
    lowestPending: [],
    positions: new Map(),
    isLogged: true,
    lowestVersions: [],
    ranges: [{ number: 0, segments: [open(1)] }],
    ...given,
  }
}

function open(id: number): FoldableSegment {
  return { id, base: 10, lsn: 20, state: 'open' }
}

function row(writtenAt: number, lsn = 5): AgingTimes {
  return { lsn, writtenAt, epk: '40' }
}

function due(...collections: readonly Facts[]): ReturnType<typeof dueMaintenance> {
  return dueMaintenance(collections, { nowMs, isFolded: () => false })
}

function kinds(view: ReturnType<typeof dueMaintenance>): readonly string[] {
  return view.tasks.map(({ kind }) => kind)
}

interface Case {
  readonly of: string
  readonly facts: Facts
  readonly tasks: readonly string[]
  readonly nextDueMs?: number
}

const group = (lsn: number): Facts['positions'] =>
  new Map([['group', [{ range: FULL_RANGE, lsn }]]])
const waiting = { pendingDeletes: { retentionSeconds: RETENTION, waitFor: ['group'] } }

test.each<Case>([
  { of: 'nothing', facts: facts(), tasks: [] },
  { of: 'an expiry at this instant', facts: facts({ firstExpiry: SECOND }), tasks: ['sweep'] },
  {
    of: 'an expiry to come',
    facts: facts({ firstExpiry: SECOND + 1 }),
    tasks: [],
    nextDueMs: nowMs + 1000,
  },
  {
    of: 'an index of expiry that is not exact',
    facts: facts({ isReindexing: true, firstExpiry: SECOND - 1 }),
    tasks: ['expiryIndex'],
  },
  {
    of: 'an entry of the index while TTL is off',
    facts: facts({ firstExpiry: SECOND - 1 }, { defaultTtl: null }),
    tasks: [],
  },
  {
    of: 'a pending delete after its retention',
    facts: facts({ lowestPending: [[row(SECOND)], [row(SECOND - RETENTION)]] }),
    tasks: ['purge'],
  },
  {
    of: 'pending deletes within their retention, the first of which is due first',
    facts: facts({ lowestPending: [[row(SECOND - RETENTION + 1)], [row(SECOND)]] }),
    tasks: [],
    nextDueMs: nowMs + 1000,
  },
  {
    of: 'pending deletes within their retention',
    facts: facts({ lowestPending: [[row(SECOND)], [row(SECOND - RETENTION + 1)]] }),
    tasks: [],
    nextDueMs: nowMs + 1000,
  },
  {
    of: 'pending deletes of one LSN, of which one is within its retention',
    facts: facts({ lowestPending: [[row(SECOND - RETENTION), row(SECOND - 93)]] }),
    tasks: [],
    nextDueMs: nowMs + 7000,
  },
  {
    of: 'a range without pending deletes',
    facts: facts({ lowestPending: [[]] }),
    tasks: [],
  },
  {
    of: 'a pending delete that its group has not passed',
    facts: facts({ lowestPending: [[row(SECOND - RETENTION)]], positions: group(4) }, waiting),
    tasks: [],
  },
  {
    of: 'a pending delete that its group has passed',
    facts: facts({ lowestPending: [[row(SECOND - RETENTION)]], positions: group(5) }, waiting),
    tasks: ['purge'],
  },
  {
    of: 'a log after its retention',
    facts: facts({ lowestVersions: [[row(nowMs - RETENTION * 1000)]] }),
    tasks: ['trimVersions'],
  },
  {
    of: 'a log within its retention',
    facts: facts({ lowestVersions: [[row(nowMs - RETENTION * 1000 + 1)]] }),
    tasks: [],
    nextDueMs: nowMs + 1,
  },
  {
    of: 'a log that was switched off',
    facts: facts({}, { allVersions: null }),
    tasks: ['trimVersions'],
  },
  {
    of: 'a log that never was',
    facts: facts({ isLogged: false }, { allVersions: null }),
    tasks: [],
  },
])('TTL-13 TTL-14 CF-11 what is due with $of', ({ facts: given, tasks, nextDueMs }) => {
  const view = due(given)
  expect(kinds(view)).toEqual(tasks)
  expect(view.nextDueMs).toBe(nextDueMs)
})

describe('order', () => {
  const parent = { id: 1, base: 0, lsn: 10, state: 'sealed' } as const
  const split = [
    { number: 1, segments: [parent, open(2)] },
    { number: 2, segments: [parent, open(3)] },
  ]
  const all: Partial<Facts> = {
    firstExpiry: SECOND,
    lowestPending: [[row(0)]],
    lowestVersions: [[row(0)]],
    ranges: split,
  }

  test('the most urgent first, over all collections', () => {
    const { tasks } = due(facts(all, {}, 'a'), facts({ ...all, isReindexing: true }, {}, 'b'))
    expect(tasks.map(({ kind, collection }) => `${kind} ${collection.id}`)).toEqual([
      'expiryIndex b',
      'sweep a',
      'purge a',
      'purge b',
      'trimVersions a',
      'trimVersions b',
      'fold a',
      'fold a',
      'fold b',
      'fold b',
    ])
  })

  test('ST-9 only ranges for which folding is worth it', () => {
    const { tasks } = due(facts({ ranges: [...split, { number: 3, segments: [open(4)] }] }))
    expect(tasks).toMatchObject([
      { kind: 'fold', range: 1 },
      { kind: 'fold', range: 2 },
    ])
  })

  test('the earliest time of all collections', () => {
    const [a, b] = [
      facts({ firstExpiry: SECOND + 9 }),
      facts({ lowestPending: [[row(SECOND - 93)]] }),
    ]
    expect(due(a, b).nextDueMs).toBe(nowMs + 7000)
  })

  test('no row is read beyond the first that can go', () => {
    const read: number[] = []
    function* rows(): Generator<readonly AgingTimes[], void, undefined> {
      for (const writtenAt of [SECOND, 0, 1]) {
        read.push(writtenAt)
        yield [row(writtenAt)]
      }
    }
    expect(kinds(due(facts({ lowestPending: rows() })))).toEqual(['purge'])
    expect(read).toEqual([SECOND, 0])
  })
})
