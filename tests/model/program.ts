/**
 * A program: what is done to a collection, step by step. Plain data, so that it is printed, cut down and
 * run again. Steps name ranges and followers by a number that is taken modulo how many there are, so that
 * any step may be left out of a program and the rest still means something.
 */
export interface Program {
  readonly settings: ProgramSettings
  readonly steps: readonly Step[]
}

export interface VersionSettings {
  readonly retentionSeconds: number
  readonly previousImages: boolean
}

export interface ProgramSettings {
  readonly defaultTtl: number | null
  readonly retentionSeconds: number
  readonly allVersions: VersionSettings | null
  readonly partitionCount: number
  /** Whether `/u` is a unique key. Absent = it is not. */
  readonly hasUniqueKey?: boolean
  /** Where in its second the program begins. */
  readonly startOffsetMs: number
}

/** Of an `If-Match`: the present version's etag, or one that the document never has. */
export type Match = 'current' | 'stale'

export interface DocumentStep {
  readonly pk: string
  readonly id: string
  /** Absent = the document has none; anything else as it stands, also what is no time to live. */
  readonly ttl?: unknown
  /** Value of the unique key; absent = one that no other document has. */
  readonly u?: string
  readonly ifMatch?: Match
}

export type PatchChange = { readonly setTtl: unknown } | { readonly do: 'removeTtl' | 'setNumber' }

export type BatchStep =
  | ({ readonly do: 'create' | 'upsert' | 'replace' } & Omit<DocumentStep, 'pk'>)
  | ({ readonly do: 'delete' | 'read' } & Omit<DocumentStep, 'pk' | 'ttl' | 'u'>)
  | ({ readonly do: 'patch'; readonly change: PatchChange } & Omit<
      DocumentStep,
      'pk' | 'ttl' | 'u'
    >)

export interface AtomicStep {
  readonly do: 'put' | 'delete' | 'check'
  readonly pk: string
  readonly id: string
  readonly ttl?: unknown
  readonly u?: string
  /** Seconds from now, of `expiresAtMs`. */
  readonly expiresIn?: number
  readonly condition: 'none' | 'absent' | 'present'
}

export type UpkeepKind = 'expiryIndex' | 'sweep' | 'purge' | 'trimVersions' | 'fold'

/** How a follower reads: all of the collection at once, or range by range as processors do. */
export interface FollowerKind {
  readonly reads: 'collection' | 'ranges'
  readonly mode: 'latestVersion' | 'allVersions'
  readonly from: 'beginning' | 'now'
  readonly pendingDeletes: boolean
  /** Whole-collection ones may leave it to the store to start over. */
  readonly onHorizonPassed: 'fail' | 'resync'
}

export type Step = { readonly via?: number } & (
  | ({ readonly do: 'create' | 'upsert' | 'replace' | 'delete' } & DocumentStep)
  | ({ readonly do: 'patch'; readonly change: PatchChange } & DocumentStep)
  | { readonly do: 'batch'; readonly pk: string; readonly operations: readonly BatchStep[] }
  | { readonly do: 'atomic'; readonly writes: readonly AtomicStep[] }
  | { readonly do: 'clock'; readonly byMs: number }
  /** To the instant at which the next document expires, and so much further. */
  | { readonly do: 'clockToExpiry'; readonly offsetMs: number }
  | { readonly do: 'defaultTtl'; readonly value: number | null }
  | { readonly do: 'allVersions'; readonly value: VersionSettings | null }
  | { readonly do: 'retention'; readonly seconds: number }
  | { readonly do: 'waitFor' | 'stopWaitingFor'; readonly group: string }
  | {
      readonly do: 'report'
      readonly group: string
      readonly range: number
      readonly share: number
    }
  | { readonly do: 'split'; readonly range: number; readonly at: string }
  | { readonly do: 'merge'; readonly range: number }
  | {
      readonly do: 'upkeep'
      readonly task: UpkeepKind
      readonly maxItems: number
      readonly range: number
    }
  | { readonly do: 'runMaintenance' }
  /** A new follower, which reads so many pages of one change at once. */
  | { readonly do: 'begin'; readonly follower: FollowerKind; readonly pages?: number }
  | {
      readonly do: 'follow'
      readonly follower: number
      /** Pages at most; 0 = until it has caught up. */
      readonly pages: number
      readonly maxItems: number
    }
  /** Keeps a copy of a follower, which goes on from here later. */
  | { readonly do: 'fork'; readonly follower: number }
  | { readonly do: 'readFromTime'; readonly agoSeconds: number }
  | { readonly do: 'reopen' }
)

/** Partition key values; few, so that steps meet. */
export const PARTITION_KEYS: readonly string[] = ['p0', 'p1', 'p2', 'p3', 'p4']
export const IDS: readonly string[] = ['a', 'b', 'c']
export const GROUPS: readonly string[] = ['g', 'h']

/** A program as text: its settings, then one step a line. */
export function programText({ settings, steps }: Program): string {
  return [settings, ...steps].map((line) => JSON.stringify(line)).join('\n')
}

/** A program as `programText` gives it. */
export function parseProgram(text: string): Program {
  const [settings, ...steps] = text
    .split('\n')
    .filter((line) => line.trim().startsWith('{'))
    .map((line): unknown => JSON.parse(line))
  // The command's own output, given back to it.
  return { settings, steps } as Program
}
