import type { DurabilityLevel, LeaseDurability } from '@tidemark/contracts'

/** The data that one server reports about itself. */
export interface ServerFacts {
  /** Name of the server, if there are several. */
  readonly name: string
  /** CONFIG GET; undefined when it is not allowed. */
  readonly settings: ReadonlyMap<string, string> | undefined
  /** INFO; undefined when it is not allowed. */
  readonly info: ReadonlyMap<string, string> | undefined
}

export interface JudgedDurability extends LeaseDurability {
  /** False: the level is the lowest that fits the known data, and may be higher. */
  readonly certain: boolean
}

/** From most to least durable. */
export const DURABILITY_LEVELS: readonly DurabilityLevel[] = ['A', 'B', 'C', 'D']

/**
 * How durable the leases are on servers that each hold a part of them: as on the least durable one.
 *
 * `declared` is your own statement for servers that cannot be asked. What a server reports takes precedence.
 */
export function judgeDurability(
  servers: readonly ServerFacts[],
  declared: DurabilityLevel | undefined,
): JudgedDurability {
  const judged = servers.map((facts) => ({ facts, ...judgeServer(facts, declared) }))
  const worst = Math.max(...judged.map(({ level }) => DURABILITY_LEVELS.indexOf(level)))
  const level = DURABILITY_LEVELS[worst] ?? 'D'
  const named = (facts: ServerFacts, own: readonly string[] = []): readonly string[] =>
    servers.length === 1 ? own : own.map((finding) => `${facts.name}: ${finding}`)
  const findings = judged.flatMap(({ facts, findings: own }) => named(facts, own))
  const unbounded = judged.flatMap(({ facts, unbounded: own }) => named(facts, own))
  // If one server keeps nothing, that decides for all of them.
  const certain = judged.some((server) => server.certain && server.level === level)
  return { level, findings, unbounded, certain }
}

function judgeServer(
  facts: ServerFacts,
  declared: DurabilityLevel | undefined,
): Omit<JudgedDurability, 'name'> {
  const { settings, info } = facts
  const evicting = evictionOf(facts)
  const appendOnly = settings?.get('appendonly')
  const judged =
    settings === undefined || appendOnly === undefined
      ? judgeWithoutSettings({ settings, info }, declared)
      : judgeSettings(settings, { info, declared })
  const findings = [...judged.findings]
  if (info?.get('role') === 'slave')
    findings.push('it is a replica, and takes no writes at present')
  if (evicting === undefined) return { ...judged, findings }
  return { level: 'D', findings: [evicting, ...findings], certain: true }
}

function judgeSettings(
  settings: ReadonlyMap<string, string>,
  {
    info,
    declared,
  }: {
    readonly info: ReadonlyMap<string, string> | undefined
    readonly declared: DurabilityLevel | undefined
  },
): JudgedDurability {
  const persistence = persistenceOf(settings)
  const failOver = failOverOf(settings, info)
  const level = lower(persistence.level, failOver.level)
  // Up-to-date copies elsewhere compensate for the second that this disk may lack, as long as there is at least one.
  const raised = failOver.level === 'B' && persistence.level === 'C' ? 'B' : level
  const findings = [persistence.finding, failOver.finding]
  if (declared !== undefined && declared !== raised) {
    findings.push(`declared as level ${declared}; what the server reports takes precedence`)
  }
  const unbounded = [persistence, failOver]
    .filter((one) => one.isUnbounded)
    .map(({ finding }) => finding)
  return { level: raised, findings, unbounded, certain: true }
}

interface Finding {
  readonly level: DurabilityLevel
  readonly finding: string
  /** Minutes may be lost, or more. */
  readonly isUnbounded?: boolean
}

/** What remains when this server ends and starts again. */
function persistenceOf(settings: ReadonlyMap<string, string>): Finding {
  if (settings.get('appendonly') === 'yes') {
    const fsync = settings.get('appendfsync') ?? ''
    const how = `appendonly yes, appendfsync ${fsync}`
    switch (fsync) {
      case 'always':
        return { level: 'A', finding: `${how}: each write is on disk before it is acknowledged` }
      case 'everysec':
        return { level: 'C', finding: `${how}: a crash of the machine loses about a second` }
      default:
        return {
          level: 'C',
          finding: `${how}: a crash of the machine loses what the system had not written, often 30 s`,
        }
    }
  }
  const save = settings.get('save') ?? ''
  if (save === '') {
    return {
      level: 'D',
      finding: 'appendonly no, no snapshots: everything is lost when the server ends',
    }
  }
  return {
    level: 'C',
    finding: `appendonly no, save ${save}: a crash loses everything since the last snapshot; with appendonly yes, about a second`,
    isUnbounded: true,
  }
}

/** What remains when another server takes over. */
function failOverOf(
  settings: ReadonlyMap<string, string>,
  info: ReadonlyMap<string, string> | undefined,
): Finding {
  const guards = Number(settings.get('min-replicas-to-write') ?? 0)
  const lagS = Number(settings.get('min-replicas-max-lag') ?? 0)
  if (guards > 0 && lagS > 0) {
    return {
      level: 'B',
      finding: `min-replicas-to-write ${guards}, min-replicas-max-lag ${lagS}: a fail-over loses at most ${lagS} s`,
    }
  }
  const replicas = Number(info?.get('connected_slaves') ?? 0)
  if (replicas === 0) return { level: 'A', finding: 'no replica that could take over' }
  return {
    level: 'C',
    finding:
      `${replicas} replicas, min-replicas-to-write 0: a fail-over loses what they lack, without limit; ` +
      'set min-replicas-to-write and min-replicas-max-lag',
    isUnbounded: true,
  }
}

function judgeWithoutSettings(
  { settings, info }: Pick<ServerFacts, 'settings' | 'info'>,
  declared: DurabilityLevel | undefined,
): JudgedDurability {
  const findings = [
    settings === undefined
      ? 'CONFIG GET is not permitted'
      : 'CONFIG GET does not return appendonly',
  ]
  if (declared !== undefined) {
    return {
      level: declared,
      findings: [...findings, `declared as level ${declared}`],
      certain: true,
    }
  }
  const appendOnly = info?.get('aof_enabled')
  if (info === undefined) findings.push('INFO is not permitted either')
  else if (appendOnly === '1')
    findings.push('INFO reports an append-only file, but not how it is synced')
  else if (appendOnly === '0') findings.push('INFO reports no append-only file')
  else findings.push('INFO does not report whether there is an append-only file')
  findings.push('set the option durability to what you know about the server')
  return { level: appendOnly === '1' ? 'C' : 'D', findings, certain: false }
}

/** Undefined when the server evicts no leases: no key here has an expiry, which `volatile-*` policies need. */
function evictionOf({ settings, info }: ServerFacts): string | undefined {
  const limit = settings?.get('maxmemory') ?? info?.get('maxmemory') ?? '0'
  const policy = settings?.get('maxmemory-policy') ?? info?.get('maxmemory_policy') ?? 'noeviction'
  if (!policy.startsWith('allkeys-') || Number(limit) === 0) return undefined
  return `maxmemory ${limit} with maxmemory-policy ${policy}: a full server may delete leases; set noeviction`
}

function lower(a: DurabilityLevel, b: DurabilityLevel): DurabilityLevel {
  return DURABILITY_LEVELS.indexOf(a) > DURABILITY_LEVELS.indexOf(b) ? a : b
}
