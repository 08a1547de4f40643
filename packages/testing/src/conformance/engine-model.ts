import type { VersionRow } from '@tidemark/contracts'
import { parsed } from './storage-engine-fixtures.ts'

export interface ModelDocument {
  readonly pk: string
  readonly id: string
  /** Different for every version ever written. */
  readonly n: number
  readonly lsn: number
  /** Epoch seconds. */
  readonly ts: number
  /** 0 = none of its own. */
  readonly ttl: number
  /** Of the only unique key. */
  readonly entry: string
}

export interface ModelPendingDelete {
  readonly key: string
  /** The version that expired. */
  readonly version: ModelDocument
  /** Epoch second at which it expired. */
  readonly expired: number
  /** Store time at which it was written, epoch ms. */
  readonly writtenMs: number
}

export interface ModelLogEntry {
  readonly text: string
  /** Store time, epoch ms. */
  readonly writtenMs: number
}

export type ModelWrite =
  | {
      readonly kind: 'put'
      readonly n: number
      readonly ttl: number
      readonly entry: string
    }
  | { readonly kind: 'delete' }

/**
 * What an engine holds, too simple to be wrong: no index, no segments, no ranges. Past values of the
 * default are kept for ever, because what expired under one stays expired (TTL-18).
 */
export class EngineModel {
  readonly documents: Map<string, ModelDocument> = new Map()
  /** That were not purged, by `n` of the version. */
  readonly pending: Map<number, ModelPendingDelete> = new Map()
  /** That were. */
  readonly purged: Set<number> = new Set()
  /** By key: all that the log of all versions ever said, oldest first. */
  readonly log: Map<string, ModelLogEntry[]> = new Map()
  /** By key: so many of them were trimmed. */
  readonly trimmed: Map<string, number> = new Map()
  readonly #eras: { readonly defaultTtl: number | null; readonly untilMs: number }[] = []
  #defaultTtl: number | null

  constructor(defaultTtl: number | null) {
    this.#defaultTtl = defaultTtl
  }

  get hasTtl(): boolean {
    return this.#defaultTtl !== null
  }

  setDefault(defaultTtl: number | null, nowMs: number): void {
    this.#eras.push({ defaultTtl: this.#defaultTtl, untilMs: nowMs })
    this.#defaultTtl = defaultTtl
  }

  /** Epoch second at which a document will expire as things are; 0 = never. */
  expiryOf(document: ModelDocument): number {
    return expiry(document, this.#defaultTtl)
  }

  /** Epoch second at which it expired, if it has; else 0. */
  expiredAt(document: ModelDocument, nowMs: number): number {
    const policies = [...this.#eras, { defaultTtl: this.#defaultTtl, untilMs: nowMs }]
    const seconds = policies.flatMap(({ defaultTtl, untilMs }) => {
      const second = expiry(document, defaultTtl)
      return second !== 0 && second * 1000 <= untilMs ? [second] : []
    })
    return seconds.length === 0 ? 0 : Math.min(...seconds)
  }

  /** The document of a key that has not expired. */
  read(key: string, nowMs: number): ModelDocument | undefined {
    const document = this.documents.get(key)
    return document && this.expiredAt(document, nowMs) === 0 ? document : undefined
  }

  live(nowMs: number): readonly ModelDocument[] {
    return [...this.documents.values()].filter((each) => this.expiredAt(each, nowMs) === 0)
  }

  /** Expired, and no pending deletes yet. */
  expired(nowMs: number): readonly ModelDocument[] {
    return [...this.documents.values()].filter((each) => this.expiredAt(each, nowMs) !== 0)
  }

  write(
    { pk, id }: { readonly pk: string; readonly id: string },
    write: ModelWrite,
    { lsn, nowMs }: { readonly lsn: number; readonly nowMs: number },
  ): void {
    const key = keyText({ pk, id })
    const there = this.documents.get(key)
    const before = this.read(key, nowMs)
    if (write.kind === 'delete') {
      if (before === undefined) return
      this.documents.delete(key)
      this.#note(key, 'delete', nowMs)
      return
    }
    if (there !== undefined && before === undefined) this.expire(there, nowMs)
    const { n, ttl, entry } = write
    this.documents.set(key, { pk, id, n, lsn, ts: Math.floor(nowMs / 1000), ttl, entry })
    this.#note(key, `${before === undefined ? 'create' : 'replace'} ${n}`, nowMs)
  }

  /** Turns an expired document into its pending delete. */
  expire(version: ModelDocument, nowMs: number): void {
    const key = keyText(version)
    const expired = this.expiredAt(version, nowMs)
    this.documents.delete(key)
    this.pending.set(version.n, { key, version, expired, writtenMs: nowMs })
    this.#note(key, 'expire', nowMs)
  }

  purge(n: number): void {
    this.pending.delete(n)
    this.purged.add(n)
  }

  /** What is left of the log of a key. */
  logOf(key: string): readonly ModelLogEntry[] {
    return (this.log.get(key) ?? []).slice(this.trimmed.get(key) ?? 0)
  }

  #note(key: string, text: string, writtenMs: number): void {
    this.log.set(key, [...(this.log.get(key) ?? []), { text, writtenMs }])
  }
}

export function keyText({ pk, id }: { readonly pk: string; readonly id: string }): string {
  return `${pk}/${id}`
}

/** An entry of the log as the model writes it. */
export function versionText({ operation, current }: VersionRow): string {
  return current === undefined ? operation : `${operation} ${String(parsed(current)['n'])}`
}

function expiry({ ts, ttl }: ModelDocument, defaultTtl: number | null): number {
  if (defaultTtl === null) return 0
  const inForce = ttl === 0 ? defaultTtl : ttl
  return inForce === -1 ? 0 : ts + inForce
}
