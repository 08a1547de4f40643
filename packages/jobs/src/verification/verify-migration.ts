import type { DocumentBody, Stored } from '@tidemark/contracts'
import {
  murmur3x86,
  checkOptions,
  option,
  optionWhole,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { Collection } from '@tidemark/store'
import { storedExpiry, type ExpiryCarrier } from '../migration/carry-expiry.ts'
import {
  keyReader,
  keyText,
  partitionKeyValue,
  type DocumentKey,
} from '../migration/document-key.ts'
import type { MapDocument } from '../migration/map-document.ts'
import { migrationRules, type ExpiryOption } from '../migration/migration-options.ts'
import { collectionRule } from '../workers/job-options.ts'
import { documentsEqual, documentsEqualButTtl } from './documents-equal.ts'
import { storedForm } from '../migration/stored-form.ts'
import { documentPages } from '../workers/document-pages.ts'

export interface VerifyOptions<S extends DocumentBody, T extends DocumentBody> {
  /** The collection that was copied. */
  readonly source: Collection<S>
  /** The copy. */
  readonly target: Collection<T>
  /** The one that the migration was run with. */
  readonly mapDocument: MapDocument<S, T>
  /**
   * As the migration had it. With `carry`, when both sides have TTL on, `ttl` is not compared; the
   * instants at which the documents expire are. @default 'carry'
   */
  readonly expiry?: ExpiryOption | undefined
  /** Keys named in the report, of each kind. @range 0 or more @default 20 */
  readonly samples?: number | undefined
  /**
   * Target keys held in memory at a time. With more documents than that, both collections are read
   * several times.
   * @unit keys @range 1 or more @default 1_000_000
   */
  readonly maxKeysInMemory?: number | undefined
  /** Called after each page. @default nothing */
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface VerifyProgress {
  /** Documents looked at so far, of both sides and in all passes. */
  readonly checked: number
  /** How many there will be, as counted at the start. */
  readonly total: number
}

export interface Findings {
  readonly count: number
  /** The first of them; keys of the target. */
  readonly samples: readonly DocumentKey[]
}

/** What `verifyMigration` found. */
export interface VerifyReport {
  /** True when nothing is missing, different or extra, and nothing collides. */
  readonly same: boolean
  /** Documents of the source. */
  readonly sourceDocuments: number
  /** Documents that the target should have. */
  readonly expected: number
  /** Documents that the target has. */
  readonly targetDocuments: number
  /** In the source and not in the target. */
  readonly missing: Findings
  /** In both, with other contents or another expiry. */
  readonly different: Findings
  /** In the target, and made by no document of the source: among them those deleted in the source. */
  readonly extra: Findings
  /** Target keys that more than one source document wants. */
  readonly collisions: Findings
}

/**
 * Compares both sides document by document, by key and content; what the store adds to documents is
 * ignored. Reads whatever there is while it runs, so that writers should rest meanwhile; what expires
 * between the reading of one side and of the other is no difference. Needs memory for
 * the target keys of one pass, not for documents.
 */
export async function verifyMigration<S extends DocumentBody, T extends DocumentBody>(
  options: VerifyOptions<S, T>,
): Promise<VerifyReport> {
  checkOptions(options, RULES)
  const { source, target, maxKeysInMemory = DEFAULT_KEYS, samples = DEFAULT_SAMPLES } = options
  const sourceCount = await source.count()
  const passes = Math.max(1, Math.ceil(sourceCount / maxKeysInMemory))
  const total = (sourceCount + (await target.count())) * passes
  const verification = new Verification(options, {
    passes,
    samples,
    total,
    carrier: await readCarrier(options),
  })
  for (let pass = 0; pass < passes; pass += 1) await verification.run(pass)
  return verification.report()
}

async function readCarrier<S extends DocumentBody, T extends DocumentBody>({
  source,
  target,
  expiry = 'carry',
}: VerifyOptions<S, T>): Promise<ExpiryCarrier | undefined> {
  if (expiry === 'ignore') return undefined
  const sourceTtl = (await source.readRecord()).definition.defaultTtl
  const targetTtl = (await target.readRecord()).definition.defaultTtl
  return sourceTtl === null || targetTtl === null ? undefined : { sourceTtl, targetTtl }
}

const RULES: OptionRules<VerifyOptions<never, never>> = {
  source: collectionRule,
  target: collectionRule,
  mapDocument: requiredOption(option.function),
  expiry: migrationRules.expiry,
  samples: optionWhole(0),
  maxKeysInMemory: optionWhole(1),
  onProgress: option.function,
  signal: option.signal,
}
const DEFAULT_SAMPLES = 20
const DEFAULT_KEYS = 1_000_000

class Verification<S extends DocumentBody, T extends DocumentBody> {
  readonly #options: VerifyOptions<S, T>
  readonly #passes: number
  readonly #total: number
  readonly #carrier: ExpiryCarrier | undefined
  readonly #targetKey: (document: DocumentBody) => DocumentKey
  readonly #missing: Tally
  readonly #different: Tally
  readonly #extra: Tally
  readonly #collisions: Tally
  #sourceDocuments = 0
  #expected = 0
  #targetDocuments = 0
  #checked = 0

  constructor(
    options: VerifyOptions<S, T>,
    {
      passes,
      samples,
      total,
      carrier,
    }: { passes: number; samples: number; total: number; carrier: ExpiryCarrier | undefined },
  ) {
    this.#options = options
    this.#passes = passes
    this.#total = total
    this.#carrier = carrier
    this.#targetKey = keyReader(options.target.partitionKeyPaths)
    this.#missing = new Tally(samples)
    this.#different = new Tally(samples)
    this.#extra = new Tally(samples)
    this.#collisions = new Tally(samples)
  }

  /** Contents are compared in the first pass, the other direction in each for its share of the keys. */
  async run(pass: number): Promise<void> {
    const { source, target, signal } = this.#options
    const wanted = new Set<string>()
    for await (const documents of documentPages(source, { signal })) {
      await Promise.all(documents.map((document) => this.#checkSource(document, pass, wanted)))
      this.#tell(documents.length)
    }
    for await (const documents of documentPages(target, { signal })) {
      for (const document of documents) await this.#checkTarget(document, pass, wanted)
      this.#tell(documents.length)
    }
  }

  report(): VerifyReport {
    const all = [this.#missing, this.#different, this.#extra, this.#collisions]
    return {
      same: all.every(({ count }) => count === 0),
      sourceDocuments: this.#sourceDocuments,
      expected: this.#expected,
      targetDocuments: this.#targetDocuments,
      missing: this.#missing.findings(),
      different: this.#different.findings(),
      extra: this.#extra.findings(),
      collisions: this.#collisions.findings(),
    }
  }

  async #checkSource(document: Stored<S>, pass: number, wanted: Set<string>): Promise<void> {
    if (pass === 0) this.#sourceDocuments += 1
    const mapped = await this.#options.mapDocument(document)
    if (mapped === undefined) return
    const key = this.#targetKey(mapped)
    const text = keyText(key)
    if (this.#isOfPass(text, pass)) {
      if (wanted.has(text)) this.#collisions.add(key)
      wanted.add(text)
    }
    if (pass > 0) return
    this.#expected += 1
    const { target, signal } = this.#options
    const answer = await target.read(key.id, partitionKeyValue(key), { signal })
    const { document: found, serverTimeMs } = answer
    const expiresAtMs = this.#carrier && storedExpiry(document, this.#carrier.sourceTtl)
    if (found !== undefined && this.#isCopy({ mapped, found, expiresAtMs })) return
    if (expiresAtMs !== undefined && expiresAtMs <= serverTimeMs) this.#expected -= 1
    else if (found === undefined) this.#missing.add(key)
    else this.#different.add(key)
  }

  #isCopy({
    mapped,
    found,
    expiresAtMs,
  }: {
    readonly mapped: T
    readonly found: Stored<T>
    readonly expiresAtMs: number | undefined
  }): boolean {
    const carrier = this.#carrier
    const equal = carrier === undefined ? documentsEqual : documentsEqualButTtl
    if (!equal(mapped, found) && !equal(storedForm(mapped), found)) return false
    return carrier === undefined || storedExpiry(found, carrier.targetTtl) === expiresAtMs
  }

  async #checkTarget(document: T, pass: number, wanted: ReadonlySet<string>): Promise<void> {
    if (pass === 0) this.#targetDocuments += 1
    const key = this.#targetKey(document)
    const text = keyText(key)
    if (!this.#isOfPass(text, pass) || wanted.has(text)) return
    const { target, signal } = this.#options
    // Its source may have expired before it was looked at, and it itself since.
    const { document: present } = await target.read(key.id, partitionKeyValue(key), { signal })
    if (present !== undefined) this.#extra.add(key)
    else if (pass === 0) this.#targetDocuments -= 1
  }

  #isOfPass(text: string, pass: number): boolean {
    if (this.#passes === 1) return true
    return murmur3x86(new TextEncoder().encode(text)) % this.#passes === pass
  }

  #tell(checked: number): void {
    this.#checked += checked
    this.#options.onProgress?.({ checked: this.#checked, total: this.#total })
  }
}

/** Counts, and keeps the first few. */
class Tally {
  count = 0
  readonly #limit: number
  readonly #samples: DocumentKey[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  add(key: DocumentKey): void {
    this.count += 1
    if (this.#samples.length < this.#limit) this.#samples.push(key)
  }

  findings(): Findings {
    return { count: this.count, samples: this.#samples }
  }
}
