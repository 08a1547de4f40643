import {
  GROUPS,
  IDS,
  PARTITION_KEYS,
  type AtomicStep,
  type BatchStep,
  type FollowerKind,
  type Match,
  type PatchChange,
  type Program,
  type ProgramSettings,
  type Step,
  type VersionSettings,
} from './program.ts'
import type { SeededRandom } from '@tidemark/testing/simulation'

export interface GeneratorOptions {
  /** Steps of a program at most. */
  readonly maxSteps: number
  /** Handles of the store between which steps are shared out. */
  readonly handles: number
  /** Kinds of steps that are left out: to look past a difference that is known. */
  readonly without: ReadonlySet<string>
}

/** What is too small, too large or no number at all, besides what is right. */
const INVALID_TTLS: readonly unknown[] = [0, -2, 1.5, '5', null, 2_147_483_648, true]
const VALID_TTLS = [-1, 1, 2, 3, 5, 10, 2_147_483_647] as const

type Make = (random: SeededRandom) => Step | readonly Step[]
type WeightedStep = readonly [name: string, weight: number, make: Make]

/** How often each kind of step comes, and how it is made. */
const STEPS: readonly WeightedStep[] = [
  ['write', 26, write],
  ['patch', 4, patch],
  ['delete', 5, (random) => ({ do: 'delete', ...key(random), ...match(random) })],
  ['batch', 7, batch],
  ['atomic', 6, atomic],
  ['clock', 9, clock],
  ['clockToExpiry', 6, (random) => ({ do: 'clockToExpiry', offsetMs: random.pick([-1, 0, 0, 1]) })],
  ['defaultTtl', 5, (random) => ({ do: 'defaultTtl', value: defaultTtl(random) })],
  ['allVersions', 2, (random) => ({ do: 'allVersions', value: versions(random) })],
  ['retention', 1, (random) => ({ do: 'retention', seconds: random.pick([0, 0, 2, 10]) })],
  ['waitFor', 1, (random) => ({ do: 'waitFor', group: random.pick(GROUPS) })],
  ['stopWaitingFor', 1, (random) => ({ do: 'stopWaitingFor', group: random.pick(GROUPS) })],
  ['report', 3, report],
  ['split', 6, split],
  ['merge', 6, (random) => ({ do: 'merge', range: random.below(64) })],
  ['upkeep', 16, upkeep],
  ['expireSome', 4, expireSome],
  ['mergeAndRead', 3, mergeAndRead],
  ['loseAndFollow', 4, loseAndFollow],
  ['runMaintenance', 2, () => ({ do: 'runMaintenance' })],
  ['begin', 6, (random) => ({ do: 'begin', follower: follower(random), pages: 1 })],
  ['follow', 14, follow],
  ['fork', 2, (random) => ({ do: 'fork', follower: random.below(64) })],
  ['readFromTime', 2, (random) => ({ do: 'readFromTime', agoSeconds: random.below(12) })],
  ['reopen', 2, () => ({ do: 'reopen' })],
]

/** The program of a seed; the same one each time. */
export function generateProgram(random: SeededRandom, options: GeneratorOptions): Program {
  const { maxSteps, handles, without } = options
  const settings = programSettings(random)
  // Programs differ in what they are made of: one that does few things goes deeper into them.
  const kinds = STEPS.filter(([name]) => !without.has(name)).map(([name, weight, make]) => {
    const share = name === 'write' ? 1 : random.pick([0, 0.5, 1, 1, 2, 4])
    return [name, weight * share, make] as const
  })
  const total = kinds.reduce((sum, [, weight]) => sum + weight, 0)
  const steps: Step[] = []
  const count = 8 + random.below(Math.max(1, maxSteps - 8))
  while (steps.length < count) {
    const made = pickWeighted(kinds, random.fraction() * total)(random)
    for (const each of [made].flat()) {
      const step = handles > 1 ? { ...each, via: random.below(handles) } : each
      steps.push(plainer(step, without))
    }
  }
  return { settings, steps }
}

/** Leaves out what is no step of its own. */
function plainer(step: Step, without: ReadonlySet<string>): Step {
  if (step.do === 'begin' && without.has('resync')) {
    return { ...step, follower: { ...step.follower, onHorizonPassed: 'fail' } }
  }
  if (step.do === 'batch' && without.has('batchRead')) {
    const operations = step.operations.filter((operation) => operation.do !== 'read')
    return operations.length > 0 ? { ...step, operations } : { do: 'runMaintenance' }
  }
  return step
}

function pickWeighted(kinds: readonly WeightedStep[], at: number): Make {
  let rest = at
  for (const [, weight, make] of kinds) {
    if (rest < weight) return make
    rest -= weight
  }
  return write
}

function programSettings(random: SeededRandom): ProgramSettings {
  return {
    defaultTtl: random.pick([null, -1, -1, 2, 5]),
    retentionSeconds: random.pick([0, 0, 2, 10]),
    allVersions: random.chance(0.6) ? policy(random) : null,
    partitionCount: random.pick([1, 1, 2, 3]),
    hasUniqueKey: random.chance(0.4),
    startOffsetMs: random.pick([0, 1, 500, 999]),
  }
}

function defaultTtl(random: SeededRandom): number | null {
  return random.pick([null, -1, 1, 2, 4, 8])
}

function versions(random: SeededRandom): VersionSettings | null {
  return random.chance(0.35) ? null : policy(random)
}

function policy(random: SeededRandom): VersionSettings {
  return { retentionSeconds: random.pick([1, 3, 60]), previousImages: random.chance(0.5) }
}

function key(random: SeededRandom): { readonly pk: string; readonly id: string } {
  return { pk: random.pick(PARTITION_KEYS), id: random.pick(IDS) }
}

function anyTtl(random: SeededRandom): { readonly ttl?: unknown } {
  if (random.chance(0.4)) return {}
  return { ttl: random.chance(0.12) ? random.pick(INVALID_TTLS) : random.pick(VALID_TTLS) }
}

function anyUnique(random: SeededRandom): { readonly u?: string } {
  return random.chance(0.4) ? { u: random.pick(['x', 'x', 'y']) } : {}
}

function match(random: SeededRandom): { readonly ifMatch?: Match } {
  if (random.chance(0.85)) return {}
  return { ifMatch: random.chance(0.7) ? 'current' : 'stale' }
}

function write(random: SeededRandom): Step {
  const kind = random.pick(['create', 'upsert', 'upsert', 'upsert', 'replace'] as const)
  const conditions = kind === 'create' ? {} : match(random)
  return { do: kind, ...key(random), ...anyTtl(random), ...anyUnique(random), ...conditions }
}

function patchChange(random: SeededRandom): PatchChange {
  const kind = random.below(3)
  if (kind === 0) return { do: 'setNumber' }
  if (kind === 1) return { do: 'removeTtl' }
  return { setTtl: random.chance(0.15) ? random.pick(INVALID_TTLS) : random.pick(VALID_TTLS) }
}

function patch(random: SeededRandom): Step {
  return { do: 'patch', ...key(random), change: patchChange(random), ...match(random) }
}

function batch(random: SeededRandom): Step {
  const operations = Array.from({ length: 1 + random.below(4) }, (): BatchStep => {
    const id = random.pick(IDS)
    const kind = random.pick(['upsert', 'upsert', 'create', 'replace', 'delete', 'patch', 'read'])
    switch (kind) {
      case 'create':
        return { do: 'create', id, ...anyTtl(random), ...anyUnique(random) }
      case 'replace':
        return { do: 'replace', id, ...anyTtl(random), ...anyUnique(random), ...match(random) }
      case 'delete':
        return { do: 'delete', id, ...match(random) }
      case 'patch':
        return { do: 'patch', id, change: patchChange(random) }
      case 'read':
        return { do: 'read', id }
      default:
        return { do: 'upsert', id, ...anyTtl(random), ...anyUnique(random), ...match(random) }
    }
  })
  return { do: 'batch', pk: random.pick(PARTITION_KEYS), operations }
}

function atomic(random: SeededRandom): Step {
  const writes = Array.from({ length: 1 + random.below(4) }, (): AtomicStep => {
    const kind = random.pick(['put', 'put', 'put', 'delete', 'check'] as const)
    const condition = random.pick(['none', 'none', 'none', 'absent', 'present'] as const)
    const base = { do: kind, ...key(random), condition }
    if (kind !== 'put') return base
    const u = anyUnique(random)
    if (random.chance(0.3)) return { ...base, ...u, expiresIn: random.below(8) - 2 }
    return { ...base, ...u, ...anyTtl(random) }
  })
  return { do: 'atomic', writes }
}

function clock(random: SeededRandom): Step {
  const byMs = random.pick([1, 250, 999, 1000, 1000, 2000, 3000, 5000, 15_000, -1, -1500, -20_000])
  return { do: 'clock', byMs }
}

function report(random: SeededRandom): Step {
  const share = random.pick([0, 0.5, 1, 1, 1])
  return { do: 'report', group: random.pick(GROUPS), range: random.below(64), share }
}

function split(random: SeededRandom): Step {
  const at = random.pick(['middle', 'middle', ...PARTITION_KEYS, '08', '1F', '2A00', '33'])
  return { do: 'split', range: random.below(64), at }
}

function upkeep(random: SeededRandom): Step {
  const task = random.pick(['expiryIndex', 'sweep', 'purge', 'trimVersions', 'fold'] as const)
  const maxItems = random.pick([1, 1, 2, 3, 100])
  return { do: 'upkeep', task, maxItems, range: random.below(64) }
}

/** Documents that expire, and are pending deletes soon: what purges and horizons are about. */
function expireSome(random: SeededRandom): readonly Step[] {
  const writes = Array.from({ length: 2 + random.below(3) }, (): Step => {
    return { do: 'upsert', ...key(random), ttl: random.pick([1, 1, 2]) }
  })
  const sweep = { do: 'upkeep', task: 'sweep', maxItems: 100, range: 0 } as const
  return [...writes, { do: 'clock', byMs: 2000 }, sweep]
}

/** A reader that begins while ranges with different pasts are one. */
function mergeAndRead(random: SeededRandom): readonly Step[] {
  const kind = { ...follower(random), from: 'beginning' } as const
  const merge = { do: 'merge', range: random.below(64) } as const
  return [merge, { do: 'begin', follower: kind, pages: 1 }]
}

/** Something goes that a reader may not have seen. */
function loseAndFollow(random: SeededRandom): readonly Step[] {
  const task = random.pick(['purge', 'purge', 'trimVersions'] as const)
  return [{ do: 'upkeep', task, maxItems: random.pick([1, 1, 2]), range: 0 }, follow(random)]
}

function follower(random: SeededRandom): FollowerKind {
  const reads = random.pick(['collection', 'ranges'] as const)
  return {
    reads,
    mode: random.pick(['latestVersion', 'latestVersion', 'allVersions'] as const),
    from: random.pick(['beginning', 'beginning', 'now'] as const),
    pendingDeletes: random.chance(0.85),
    onHorizonPassed: reads === 'collection' && random.chance(0.5) ? 'resync' : 'fail',
  }
}

function follow(random: SeededRandom): Step {
  const pages = random.pick([0, 0, 1, 1, 2, 3])
  return { do: 'follow', follower: random.below(64), pages, maxItems: 1 + random.below(4) }
}
