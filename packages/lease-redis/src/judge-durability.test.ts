import { expect, test } from 'vitest'
import type { DurabilityLevel } from '@tidemark/contracts'
import { judgeDurability, type JudgedDurability, type ServerFacts } from './judge-durability.ts'

/** What a server says that nobody has set up. */
const DEFAULTS = {
  appendonly: 'no',
  appendfsync: 'everysec',
  save: '3600 1 300 100 60 10000',
  'min-replicas-to-write': '0',
  'min-replicas-max-lag': '10',
  maxmemory: '0',
  'maxmemory-policy': 'noeviction',
}
const AOF = { appendonly: 'yes' }
const ALWAYS = { ...AOF, appendfsync: 'always' }
const GUARDED = { 'min-replicas-to-write': '1' }
const TWO_REPLICAS = { connected_slaves: '2' }

type Fields = Readonly<Record<string, string>>

function server(settings: Fields | undefined, info: Fields | undefined = {}): ServerFacts {
  return {
    name: 'one:1',
    settings: settings && new Map(Object.entries({ ...DEFAULTS, ...settings })),
    info: info && new Map(Object.entries({ role: 'master', connected_slaves: '0', ...info })),
  }
}

function judge(facts: ServerFacts, declared?: DurabilityLevel): JudgedDurability {
  return judgeDurability([facts], declared)
}

const KNOWN: readonly (readonly [DurabilityLevel, Fields, Fields, RegExp])[] = [
  ['A', ALWAYS, {}, /^appendonly yes, appendfsync always.*\nno replica/],
  ['B', { ...ALWAYS, ...GUARDED }, TWO_REPLICAS, /min-replicas-max-lag 10.*at most 10 s/],
  ['B', { ...AOF, ...GUARDED }, TWO_REPLICAS, /everysec.*\nmin-replicas-to-write 1/],
  ['C', ALWAYS, TWO_REPLICAS, /2 replicas, min-replicas-to-write 0.*set min-replicas/],
  ['C', AOF, TWO_REPLICAS, /2 replicas/],
  ['C', AOF, {}, /appendfsync everysec: .* about a second/],
  // No lag is too much for it: that is no guard.
  ['C', { ...AOF, ...GUARDED, 'min-replicas-max-lag': '0' }, TWO_REPLICAS, /without limit/],
  ['C', { ...AOF, appendfsync: 'no' }, {}, /appendfsync no: .*30 s/],
  ['C', {}, {}, /appendonly no, save 3600 1 .*last snapshot/],
  ['D', { save: '' }, {}, /no snapshots: everything is lost/],
  // A master without a file that starts again empties its replicas.
  ['D', { ...GUARDED, save: '' }, TWO_REPLICAS, /everything is lost/],
  ['D', { ...ALWAYS, maxmemory: '1', 'maxmemory-policy': 'allkeys-lru' }, {}, /^maxmemory 1 with/],
  ['C', { ...AOF, maxmemory: '1' }, {}, /everysec/],
  ['C', { ...AOF, 'maxmemory-policy': 'allkeys-lru' }, {}, /everysec/],
  ['C', AOF, { role: 'slave' }, /takes no writes/],
]

test.each(KNOWN)('level %s of %j, %j', (level, settings, info, finding) => {
  const judged = judge(server(settings, info))
  expect(judged).toMatchObject({ level, certain: true })
  expect(judged.findings.join('\n')).toMatch(finding)
})

test('what may lose minutes, without a bound, is told apart', () => {
  const snapshots = judge(server({}))
  expect(snapshots.unbounded).toEqual([expect.stringMatching(/since the last snapshot/)])
  const unguarded = judge(server(AOF, TWO_REPLICAS))
  expect(unguarded.unbounded).toEqual([expect.stringMatching(/a fail-over loses .* without limit/)])
  expect(judge(server(AOF)).unbounded).toEqual([])
  expect(judge(server({ ...AOF, ...GUARDED }, TWO_REPLICAS)).unbounded).toEqual([])
})

const FORBIDDEN: readonly (readonly [DurabilityLevel, Fields | undefined, RegExp])[] = [
  ['C', { aof_enabled: '1' }, /not permitted.*\n.*an append-only file, but not how it is synced/],
  ['D', { aof_enabled: '0' }, /no append-only file.*\n.*option durability/],
  ['D', {}, /not report whether there is an append-only file/],
]

test.each(FORBIDDEN)(
  'where CONFIG is forbidden, level %s by INFO %j, and not for certain',
  (level, info, finding) => {
    const judged = judge(server(undefined, info))
    expect(judged).toMatchObject({ level, certain: false })
    expect(judged.findings.join('\n')).toMatch(finding)
  },
)

test('where nothing may be asked the level is D, and not for certain', () => {
  const judged = judge({ name: 'one:1', settings: undefined, info: undefined })
  expect(judged).toMatchObject({ level: 'D', certain: false })
  expect(judged.findings.join('\n')).toMatch(/INFO is not permitted either/)
})

test('a server that knows no appendonly is judged as one that may not be asked', () => {
  const settings = new Map([['maxmemory', '0']])
  const judged = judgeDurability([{ name: 'x', settings, info: new Map() }], undefined)
  expect(judged).toMatchObject({ level: 'D', certain: false })
  expect(judged.findings[0]).toMatch(/does not return appendonly/)
})

test('what is declared counts where the server may not be asked, and nowhere else', () => {
  expect(judge(server(undefined, { aof_enabled: '0' }), 'B')).toMatchObject({
    level: 'B',
    certain: true,
    findings: ['CONFIG GET is not permitted', 'declared as level B'],
  })
  const contradicted = judge(server(AOF), 'A')
  expect(contradicted.level).toBe('C')
  expect(contradicted.findings.at(-1)).toMatch(
    /declared as level A; what the server reports takes precedence/,
  )
  expect(judge(server(AOF), 'C').findings).toHaveLength(2)
})

test('eviction is known from INFO too, whatever is declared', () => {
  const info = { maxmemory: '1000', maxmemory_policy: 'allkeys-lru' }
  expect(judge(server(undefined, info), 'A')).toMatchObject({ level: 'D', certain: true })
})

test.each(['volatile-lru', 'volatile-lfu', 'volatile-random', 'volatile-ttl'])(
  'with %s a full server evicts no lease, because none expires',
  (policy) => {
    const full = { ...AOF, maxmemory: '1000', 'maxmemory-policy': policy }
    expect(judge(server(full), undefined)).toMatchObject({ level: 'C', certain: true })
  },
)

test('of several servers the lowest level counts, and each finding says whose it is', () => {
  const servers = [server(ALWAYS), { ...server({ save: '' }), name: 'two:2' }, server(AOF)]
  const judged = judgeDurability(servers, undefined)
  expect(judged).toMatchObject({ level: 'D', certain: true })
  expect(judged.findings).toContainEqual(expect.stringMatching(/^two:2: appendonly no/))
  expect(judged.findings).toContainEqual(expect.stringMatching(/^one:1: appendonly yes/))
  // One is known to keep nothing, whatever another is.
  const mixed = [server(undefined, {}), { ...server({ save: '' }), name: 'two:2' }]
  expect(judgeDurability(mixed, undefined)).toMatchObject({ level: 'D', certain: true })
})
