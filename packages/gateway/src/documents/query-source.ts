import { partitionKeyText, type FeedRange, BadRequestError } from '@tidemark/contracts'
import {
  extractPartitionKey,
  partitionKeyPathSegments,
  parsePartitionKeyText,
} from '@tidemark/contracts/internal'
import { positionWithin, type OpenCollection, type ScanPosition } from '@tidemark/store/engine'
import { documentText } from './document-text.ts'
import type { DocumentSource } from '../query/document-source.ts'
import type { Json, JsonObject } from '../query/json.ts'

/** Characters of documents that are read and parsed for a query at once: some milliseconds. */
const MAX_PAGE_CHARS = 1024 * 1024

/** What of a collection a query looks at. */
export interface QueryScope {
  readonly range: FeedRange
  /** Canonical text of the one partition key value; undefined = all. */
  readonly partitionKey: string | undefined
}

/** The documents of a scope in key order, which writes do not change; positions are keys. */
export function querySource(open: OpenCollection, scope: QueryScope): DocumentSource {
  const { engine, record, turns } = open
  const paths = record.definition.partitionKey.paths.map(partitionKeyPathSegments)
  return {
    read: async ({ after, maxDocuments, signal }) => {
      if (turns.due) await turns.take()
      const { versions, next } = await engine.scan({
        collection: record,
        ...scope,
        after: positionWithin(
          scope.range,
          after === undefined ? undefined : positionOf(open, after),
        ),
        maxItems: maxDocuments,
        maxChars: MAX_PAGE_CHARS,
        signal,
      })
      for (const { body } of versions) turns.spend(body.length)
      const documents = versions.map((version) => parsed(open.stamp.text(version)))
      return {
        documents,
        positionAfter: (index) => {
          const document = documents[index] ?? {}
          return positionText(
            partitionKeyText(extractPartitionKey(document, paths)),
            document['id'],
          )
        },
        position: next && positionText(next.partitionKey, next.id),
        done: next === undefined,
      }
    },
  }
}

/** The EPK is left out: it follows from the value, and continuations are to be short. */
function positionText(partitionKey: string, id: Json): string {
  return Buffer.from(JSON.stringify([partitionKey, id])).toString('base64url')
}

function positionOf({ encoder }: OpenCollection, text: string): ScanPosition {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    const parts: readonly unknown[] = Array.isArray(value) ? value : []
    const [partitionKey, id] = parts
    if (typeof partitionKey === 'string' && typeof id === 'string') {
      const { epk } = encoder.encodeKey(parsePartitionKeyText(partitionKey))
      return { epk, partitionKey, id }
    }
  } catch (cause) {
    throw new BadRequestError('the position in the continuation cannot be read', { cause })
  }
  throw new BadRequestError('the position in the continuation cannot be read')
}

/** A document as all answers but feeds have it. */
function parsed(text: string): JsonObject {
  // Texts of documents are JSON objects.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  return JSON.parse(documentText(text)) as JsonObject
}
