import type { DocumentVersion } from '@tidemark/contracts/internal'
import type { ScanPage, ScanPosition, ScanQuery } from '@tidemark/store/engine'
import { numberColumn } from '../connection/column.ts'
import { SEGMENT_SLOTS } from '../connection/schema.ts'
import { scanDocuments, type ScanSnapshot } from './document-scan.ts'

/** What one turn reads, about. Doubled with each turn that did not catch up with those who write. */
const TURN_ITEMS = 5000
const TURN_CHARS = 4 * 1024 * 1024
/** Documents that are read again when one of them has changed. */
const STRETCH_ITEMS = 1000
/** After every id: any text is less than any blob. */
const NO_END = new Uint8Array()

/** How many documents a stretch has, how many have a row between two others, and how many are live; the first two from the index alone. */
const mark = (live: string): string =>
  `SELECT count(*), coalesce(sum(seq > ? AND seq < ?), 0), coalesce(sum(${live}), 0) FROM doc
  WHERE coll = ? AND kind = 0 AND epk = ? AND pk = ? AND id > ? AND id <= ?`

/** A snapshot, and where the range of the partition key value is in it. */
export interface PartitionSnapshot extends ScanSnapshot {
  /** The segment that takes what is written. */
  readonly segment: number
  /** Its newest row, of whatever key. */
  readonly newestSeq: number
}

/** The documents with ids after one, up to another. */
interface Stretch {
  readonly after: ScanPosition | undefined
  /** Undefined: to the end. */
  readonly through: string | undefined
  /** Undefined: they have to be read. */
  readonly versions: readonly DocumentVersion[] | undefined
  readonly chars: number
  /** With those that have expired. */
  readonly documents: number
  /** Nothing of the stretch has changed since this row was the newest. */
  readonly newestSeq: number
}

/**
 * Reads all documents of one partition key value, in turns. They are of one snapshot, that of the last turn: what was read
 * in earlier ones is compared with the index, and read again where it has changed. That is seen by a row in the open
 * segment, which all that is written appends to, or by fewer documents or live ones.
 */
export class PartitionRead {
  readonly #query: ScanQuery
  readonly #place: readonly [collection: number, epk: string, partitionKey: string]
  #stretches: readonly Stretch[] = [unread(undefined, undefined)]
  #segment: number | undefined
  #share = 1

  constructor(query: ScanQuery & { readonly partitionKey: string }) {
    const { collection, range, partitionKey } = query
    this.#query = query
    this.#place = [collection.number, range.minInclusive, partitionKey]
  }

  /** One turn. Undefined: go on in another snapshot. */
  turn(snapshot: PartitionSnapshot): ScanPage | undefined {
    const left = { items: TURN_ITEMS * this.#share, chars: TURN_CHARS * this.#share }
    if (this.#segment !== snapshot.segment) this.#stretches = [unread(undefined, undefined)]
    this.#segment = snapshot.segment
    this.#read(snapshot, left)
    if (!this.#isRead && this.#charsLeft <= 0) {
      return { versions: this.#versions(), next: this.#stretches.at(-1)?.after }
    }
    if (!this.#isRead) return undefined
    this.#stretches = this.#stretches.map((stretch) => this.#checked(snapshot, stretch))
    this.#read(snapshot, left)
    if (this.#isRead) return { versions: this.#versions(), next: undefined }
    this.#share *= 2
    return undefined
  }

  /** That the caller takes. */
  get #charsLeft(): number {
    return this.#stretches.reduce((left, { chars }) => left - chars, this.#query.maxChars)
  }

  get #isRead(): boolean {
    return this.#stretches.every(({ versions }) => versions !== undefined)
  }

  #versions(): readonly DocumentVersion[] {
    return this.#stretches.flatMap(({ versions = [] }) => versions)
  }

  /** Reads what has to be read, as far as this turn may, and as far as the caller takes it. */
  #read(snapshot: PartitionSnapshot, left: { items: number; chars: number }): void {
    const { newestSeq } = snapshot
    left.chars = Math.min(left.chars, this.#charsLeft)
    this.#stretches = this.#stretches.flatMap((stretch) => {
      if (stretch.versions !== undefined) return stretch
      const read: Stretch[] = []
      let rest: Stretch | undefined = stretch
      while (rest !== undefined && left.items > 0 && left.chars > 0) {
        const { after, through }: Stretch = rest
        const maxItems = Math.min(STRETCH_ITEMS, left.items)
        const query = { ...this.#query, after, through, maxItems, maxChars: left.chars }
        const { versions, next, examined: documents } = scanDocuments(snapshot, query)
        const chars = versions.reduce((sum, { body }) => sum + body.length, 0)
        left.items -= Math.max(documents, 1)
        left.chars -= chars
        read.push({ after, through: next?.id ?? through, versions, chars, documents, newestSeq })
        rest = next && unread(next, through)
      }
      return rest === undefined ? read : [...read, rest]
    })
  }

  #checked(snapshot: PartitionSnapshot, stretch: Stretch): Stretch {
    const { connection, condition, newestSeq, segment } = snapshot
    const { after, through, versions = [] } = stretch
    if (stretch.newestSeq === newestSeq) return stretch
    const end = (segment + 1) * SEGMENT_SLOTS
    const ids = [after?.id ?? '', through ?? NO_END]
    const live = condition ?? { sql: '1', values: [] }
    const values = [stretch.newestSeq, end, ...live.values, ...this.#place, ...ids]
    const row = connection.get(mark(live.sql), ...values) ?? []
    const isSame =
      numberColumn(row, 0) === stretch.documents &&
      numberColumn(row, 1) === 0 &&
      numberColumn(row, 2) === versions.length
    return isSame ? { ...stretch, newestSeq } : unread(after, through)
  }
}

function unread(after: ScanPosition | undefined, through: string | undefined): Stretch {
  return { after, through, versions: undefined, chars: 0, documents: 0, newestSeq: 0 }
}
