import { ResourceNotFoundError } from '@tidemark/contracts'
import { type DocumentVersion } from '@tidemark/contracts/internal'
import type { DocumentKey } from '@tidemark/store/engine'
import { integerArray, textArray } from '../connection/binary-array.ts'
import { booleanColumn, numberColumn } from '../connection/columns.ts'
import { storeTime, type ReadContext } from './read-context.ts'
import { liveRow, readDocument } from './read-document.ts'

/** Maximum number of concurrent statements: enough for the server's cores, and connections remain for other work. */
const MOST_RUNNING = 4
const MOST_KEYS = 250
/** A statement returns no more documents after this many bytes of text: documents can be large. */
const MOST_BYTES = 4 * 1024 * 1024

interface WaitingRead {
  readonly key: DocumentKey
  readonly resolve: (row: DocumentVersion | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * Point reads of one process. A read that finds a free connection starts at once. Reads that have to wait share one
 * statement: a thousand concurrent reads take about ten round trips.
 */
export class DocumentReads {
  readonly #context: ReadContext
  readonly #waiting: WaitingRead[] = []
  #running = 0

  constructor(context: ReadContext) {
    this.#context = context
  }

  /** The live document of a key. Rejects with ERR_NOT_FOUND when the collection is gone. */
  read(key: DocumentKey): Promise<DocumentVersion | undefined> {
    // It would fail the others in its statement.
    if (`${key.partitionKey}${key.id}`.includes('\0')) return readDocument(this.#context, key)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject })
      this.#next()
    })
  }

  #next(): void {
    while (this.#running < MOST_RUNNING && this.#waiting.length > 0) {
      this.#running++
      void this.#run(this.#waiting.splice(0, MOST_KEYS)).then(() => {
        this.#running--
        this.#next()
      })
    }
  }

  /** Never rejects. */
  async #run(reads: readonly WaitingRead[]): Promise<void> {
    try {
      const [first] = reads
      if (reads.length > 1) await this.#together(reads)
      else if (first !== undefined) first.resolve(await readDocument(this.#context, first.key))
    } catch (error) {
      for (const { reject } of reads) reject(error)
    }
  }

  async #together(reads: readonly WaitingRead[]): Promise<void> {
    const { connections, statements, clock } = this.#context
    const keys = reads.map(({ key }) => key)
    const rows = await connections.read(statements.of(READ_ALL), [
      integerArray(keys.map(({ collection }) => collection.number)),
      clock.atLeastMs(),
      textArray(keys.map(({ epk }) => epk)),
      textArray(keys.map(({ partitionKey }) => partitionKey)),
      textArray(keys.map(({ id }) => id)),
    ])
    const [first] = rows
    if (first !== undefined) clock.heard(numberColumn(first, 0))
    const byPlace = new Map(rows.map((row) => [numberColumn(row, 9), row]))
    for (const [index, { key, resolve, reject }] of reads.entries()) {
      const row = byPlace.get(index + 1)
      if (row === undefined) reject(new ResourceNotFoundError('collection', key.collection.id))
      else if (booleanColumn(row, 10)) this.#waiting.push({ key, resolve, reject })
      else resolve(liveRow(row))
    }
  }
}

// One statement, and so one snapshot. What does not fit is left out, but never the first one.
const READ_ALL = `
SELECT now_ms, default_ttl, eras, lsn, ts, ttl, CASE WHEN before < ${MOST_BYTES} THEN body END, rid, made, n,
  before >= ${MOST_BYTES}
FROM (
  SELECT ${storeTime(2)} AS now_ms, c.default_ttl, c.eras, d.lsn, d.ts, d.ttl, d.body, d.rid, d.made, o.n,
    coalesce(sum(octet_length(d.body)) OVER (ORDER BY o.n) - octet_length(d.body), 0) AS before
  FROM unnest($1::integer[], $3::text[], $4::text[], $5::text[])
    WITH ORDINALITY AS o(coll, epk, pk, id, n)
  JOIN :schema.collection c ON c.number = o.coll
  JOIN :schema.database b ON b.number = c.db
  LEFT JOIN LATERAL (SELECT lsn, ts, ttl, body, rid, made FROM :schema.doc
    WHERE coll = o.coll AND epk = o.epk AND pk = o.pk AND id = o.id AND kind = 0 LIMIT 1) d ON true
) found`
