import type { DurabilityLevel, LeaseDurability } from '@tidemark/contracts'

/** What one server tells about itself. */
export interface ServerFacts {
  /** Which server, where there are several. */
  readonly name: string
  /** CONFIG GET; undefined when it may not be asked. */
  readonly settings: ReadonlyMap<string, string> | undefined
  /** INFO; undefined when it may not be asked. */
  readonly info: ReadonlyMap<string, string> | undefined
}

export interface JudgedDurability extends LeaseDurability {
  /** False: the level is the lowest that fits what could be read, and may be higher. */
  readonly certain: boolean
}

/** From the most to the least. */
export const DURABILITY_LEVELS: readonly DurabilityLevel[] = ['A', 'B', 'C', 'D']

/**
 * How durable the leases are on servers that each hold a part of them: as on the least durable one.
 *
 * `declared` is what a person says of servers that may not be asked; what a server says counts more.
 */
export function judgeDurability(
  servers: readonly ServerFacts[],
  declared: DurabilityLevel | undefined,
): JudgedDurability {
  const judged = servers.map((facts) => ({ facts, ...judgeServer(facts, declared) }))
  const worst = Math.max(...judged.map(({ level }) => DURABILITY_LEVELS.indexOf(level)))
  const level = DURABILITY_LEVELS[worst] ?? 'D'
  const findings = judged.flatMap(({ facts, findings: own }) =>
    servers.length === 1 ? own : own.map((finding) => `${facts.name}: ${finding}`),
  )
  // One server that is known to keep nothing is enough to know it of the whole.
  const certain = judged.some((server) => server.certain && server.level === level)
  return { level, findings, certain }
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
  // Copies elsewhere make up for the second that this disk may lack, as long as one of them is up to date.
  const raised = failOver.level === 'B' && persistence.level === 'C' ? 'B' : level
  const findings = [persistence.finding, failOver.finding]
  if (declared !== undefined && declared !== raised) {
    findings.push(`declared as level ${declared}; what the server says counts`)
  }
  return { level: raised, findings, certain: true }
}

interface Finding {
  readonly level: DurabilityLevel
  readonly finding: string
}

/** What is left when this server ends and starts again. */
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
      finding: 'appendonly no, no snapshots: all is gone when the server ends',
    }
  }
  return {
    level: 'C',
    finding: `appendonly no, save ${save}: a crash loses all since the last snapshot; appendonly yes makes that a second`,
  }
}

/** What is left when another server takes over. */
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
      `${replicas} replicas, min-replicas-to-write 0: a fail-over loses what they lack, without a bound; ` +
      'set min-replicas-to-write and min-replicas-max-lag',
  }
}

function judgeWithoutSettings(
  { settings, info }: Pick<ServerFacts, 'settings' | 'info'>,
  declared: DurabilityLevel | undefined,
): JudgedDurability {
  const findings = [
    settings === undefined ? 'CONFIG GET is not permitted' : 'CONFIG GET does not tell appendonly',
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
    findings.push('INFO tells of an append-only file, not how it is synced')
  else if (appendOnly === '0') findings.push('INFO tells of no append-only file')
  else findings.push('INFO tells nothing of an append-only file')
  findings.push('say by the option durability what is known of the server')
  return { level: appendOnly === '1' ? 'C' : 'D', findings, certain: false }
}

/** Undefined when the server evicts nothing of ours: no key here has an expiry, which `volatile-*` policies look for. */
function evictionOf({ settings, info }: ServerFacts): string | undefined {
  const limit = settings?.get('maxmemory') ?? info?.get('maxmemory') ?? '0'
  const policy = settings?.get('maxmemory-policy') ?? info?.get('maxmemory_policy') ?? 'noeviction'
  if (!policy.startsWith('allkeys-') || Number(limit) === 0) return undefined
  return `maxmemory ${limit} with maxmemory-policy ${policy}: a full server may delete leases; set noeviction`
}

function lower(a: DurabilityLevel, b: DurabilityLevel): DurabilityLevel {
  return DURABILITY_LEVELS.indexOf(a) > DURABILITY_LEVELS.indexOf(b) ? a : b
}
