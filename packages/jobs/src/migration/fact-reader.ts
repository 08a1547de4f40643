import type { DocumentBody } from '@tidemark/contracts'
import type { Effort } from '../effectively-once/effectively-once.ts'
import { carryExpiry, storedExpiry } from './carry-expiry.ts'
import { keyReader, keyText, sameKey, type DocumentKey } from './document-key.ts'
import type { MapDocument } from './map-document.ts'
import type { MigrationStorage } from './migration-storage.ts'
import {
  stateKey,
  type Facts,
  type Holding,
  type IncomingDocument,
  type Succession,
  type Versioned,
} from './planned-write.ts'
import { readDocument, readEach } from './read-document.ts'
import { RivalFinder, type Wanting } from './rival-finder.ts'
import {
  sourceEntryKey,
  waitersEntryKey,
  type SourceEntry,
  type WaitersEntry,
} from './state-documents.ts'

const NOTHING_KNOWN: Facts = {
  entries: new Map(),
  holdings: new Map(),
  occupied: new Set(),
  waiters: new Map(),
  successions: new Map(),
  rivals: new Map(),
}

/**
 * Looks up what `planDocument` has to know: nothing, the entries of the documents, or also whether a target key belongs
 * to another document.
 */
export class FactReader<S extends DocumentBody, T extends DocumentBody> {
  readonly #storage: MigrationStorage<S, T>
  readonly #map: MapDocument<S, T>
  readonly #rivalFinder: RivalFinder<S, T>
  readonly #targetKey: (document: DocumentBody) => DocumentKey

  constructor(storage: MigrationStorage<S, T>, map: MapDocument<S, T>) {
    this.#storage = storage
    this.#map = map
    this.#rivalFinder = new RivalFinder(storage)
    this.#targetKey = keyReader(storage.target.partitionKeyPaths)
  }

  async read(candidates: readonly IncomingDocument[], effort: Effort): Promise<Facts> {
    if (effort === 'none') return NOTHING_KNOWN
    const entries = await readEach(
      candidates.map(({ source }) => source),
      (source) => this.#entry(source),
    )
    const holdings = await this.#holdings(entries)
    const keys = keysInQuestion(candidates, { entries, holdings })
    const occupied =
      effort === 'likely'
        ? new Map<string, Versioned<T>>()
        : await readEach(keys.entering, (key) => readDocument(this.#storage.target, key))
    const queues = [...keys.leaving, ...keys.awaited]
    queues.push(...keys.entering.filter((key) => occupied.has(keyText(key))))
    const waiters = await readEach(queues, (key) => this.#queue(key))
    const queued = keys.leaving.filter((key) => waiters.has(keyText(key)))
    const successions = await readEach(queued, (key) =>
      this.#succession(key, waiters.get(keyText(key))?.document.sources ?? []),
    )
    const known = { entries, holdings, occupied: new Set(occupied.keys()), waiters, successions }
    const rivals =
      effort === 'rivals' ? await this.#rivals(candidates, known) : NOTHING_KNOWN.rivals
    return { ...known, rivals }
  }

  /** Who has the values of unique keys that the candidates want, and those that get a key which a candidate leaves. */
  #rivals(
    candidates: readonly IncomingDocument[],
    { entries, holdings, successions }: Pick<Facts, 'entries' | 'holdings' | 'successions'>,
  ): Promise<Facts['rivals']> {
    const wanting = candidates.flatMap(({ source, lsn, mapped }): readonly Wanting[] => {
      const {
        target = null,
        waiting = false,
        lsn: known = 0,
      } = entries.get(keyText(source))?.document ?? {}
      if (mapped === undefined || known >= lsn) return []
      const isThere = !waiting && (holdings.get(keyText(source))?.kind ?? 'own') === 'own'
      return [{ source, ...mapped, own: isThere ? (target ?? undefined) : undefined }]
    })
    const succeeding = [...successions.values()].flatMap(({ successor }): readonly Wanting[] =>
      // It replaces the copy that is there.
      successor === undefined ? [] : [{ ...successor, own: successor.key }],
    )
    return this.#rivalFinder.find([...wanting, ...succeeding])
  }

  /** What has become of the copies that expire, or were removed. */
  async #holdings(
    entries: ReadonlyMap<string, Versioned<SourceEntry>>,
  ): Promise<ReadonlyMap<string, Holding>> {
    const holdings = new Map<string, Holding>()
    await Promise.all(
      [...entries].map(async ([source, { document, ts }]) => {
        const { target, expires = false, parked = false } = document
        if ((!expires && !parked) || target === null) return
        const present = await readDocument(this.#storage.target, target)
        // A copy and its entry are of one commit. Whoever got the key after it expired, which takes a
        // second at least, is of a later one.
        if (present === undefined) holdings.set(source, { kind: 'gone' })
        else if (parked || present.ts !== ts) holdings.set(source, { kind: 'other' })
        else holdings.set(source, { kind: 'own', etag: present.etag })
      }),
    )
    return holdings
  }

  #entry(source: DocumentKey): Promise<Versioned<SourceEntry> | undefined> {
    return readDocument(this.#storage.entries, stateKey(sourceEntryKey(source)))
  }

  #queue(target: DocumentKey): Promise<Versioned<WaitersEntry> | undefined> {
    return readDocument(this.#storage.queues, stateKey(waitersEntryKey(target)))
  }

  /** The first in the queue that still wants the key. The others' own changes are on their way. */
  async #succession(target: DocumentKey, sources: readonly DocumentKey[]): Promise<Succession> {
    for (const [index, source] of sources.entries()) {
      const entry = await this.#entry(source)
      const { waiting = false, target: awaited = null } = entry?.document ?? {}
      if (entry === undefined || !waiting || awaited === null || !sameKey(awaited, target)) continue
      const present = await readDocument(this.#storage.source, source)
      const mapped = present && (await this.#map(present.document))
      if (present === undefined || mapped === undefined) continue
      const key = this.#targetKey(mapped)
      if (!sameKey(key, target)) continue
      const { carrier } = this.#storage
      const copy =
        carrier === undefined
          ? { document: mapped, expiresAtMs: undefined }
          : carryExpiry(mapped, storedExpiry(present.document, carrier.sourceTtl), carrier)
      const successor = { source, key, ...copy, lsn: present.lsn, entry }
      return { successor, remaining: sources.slice(index + 1) }
    }
    return { successor: undefined, remaining: [] }
  }
}

interface KeysInQuestion {
  /** New target keys. */
  readonly entering: readonly DocumentKey[]
  /** Target keys that are given up. */
  readonly leaving: readonly DocumentKey[]
  /** Target keys that the document waited for until now. */
  readonly awaited: readonly DocumentKey[]
}

function keysInQuestion(
  candidates: readonly IncomingDocument[],
  { entries, holdings }: Pick<Facts, 'entries' | 'holdings'>,
): KeysInQuestion {
  const entering: DocumentKey[] = []
  const leaving: DocumentKey[] = []
  const awaited: DocumentKey[] = []
  for (const { source, lsn, mapped } of candidates) {
    const entry = entries.get(keyText(source))?.document
    if (entry !== undefined && entry.lsn >= lsn) continue
    const { target = null, waiting = false } = entry ?? {}
    const holding = holdings.get(keyText(source))?.kind
    const left = waiting || holding === 'other' ? null : target
    if (waiting && target !== null) awaited.push(target)
    const returns = mapped !== undefined && left !== null && sameKey(mapped.key, left)
    if (returns && holding !== 'gone') continue
    if (left !== null && !returns) leaving.push(left)
    if (mapped !== undefined) entering.push(mapped.key)
  }
  return { entering, leaving, awaited }
}
