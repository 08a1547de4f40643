import {
  partitionKeyText,
  type DocumentBody,
  type PartitionKeyComponent,
  type Stored,
} from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { keyReader } from '../../inspection/document-key.ts'
import { shownPartitionKey } from '../arguments/parse-value.ts'
import type { CommandContext } from '../command-context.ts'
import type { AddressOptions } from '../document-address.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { Interruption } from '../interruption.ts'
import { writeJsonLine, writeText } from '../output/json-lines.ts'
import { PagedTable } from '../output/text-table.ts'

export interface ListOptions extends AddressOptions {
  readonly limit?: number
  readonly after?: string
}

const PAGE = 1_000

/** Writes the documents page by page. Stops when the reader is gone. */
export async function listDocuments(
  collection: Collection,
  { json, partitionKey, limit = Infinity, after }: ListOptions,
  { output, errors }: CommandContext,
): Promise<ExitCode> {
  using interruption = new Interruption()
  const { signal } = interruption
  const table = new PagedTable(['ID', 'PARTITION KEY', 'CHANGED'])
  const keyOf = keyReader({ paths: collection.partitionKeyPaths })
  let continuation = after
  let left = limit
  do {
    if (signal.aborted) return interruption.exitCode ?? EXIT.ok
    const page = await collection.readDocuments({
      partitionKey,
      continuation,
      maxItemCount: Math.min(left, PAGE),
    })
    const rows = page.documents.map((document) => ({ document, key: keyOf(document) }))
    const isTaken =
      json === true
        ? await writeLines(rows)
        : await writeText(output, table.page(rows.map(({ document, key }) => row(document, key))))
    if (!isTaken) return EXIT.ok
    left -= rows.length
    continuation = page.continuation
  } while (continuation !== undefined && left > 0)
  if (continuation !== undefined) {
    errors.write(`tidemark: there are more documents; continue with --after '${continuation}'\n`)
  }
  return EXIT.ok

  async function writeLines(
    rows: readonly { readonly document: Stored<DocumentBody>; readonly key: Key }[],
  ): Promise<boolean> {
    for (const { document, key } of rows) {
      if (!(await writeJsonLine(output, line(document, key)))) return false
    }
    return true
  }
}

type Key = readonly PartitionKeyComponent[]

function row({ id, _ts: ts }: Stored<DocumentBody>, key: Key): readonly string[] {
  return [id, shownPartitionKey(key), new Date(ts * 1_000).toISOString()]
}

/** The key is JSON that `--partition-key` reads back. */
function line({ id, _ts, _etag, _lsn }: Stored<DocumentBody>, key: Key): unknown {
  const partitionKey: unknown = JSON.parse(partitionKeyText(key))
  return { id, partitionKey, _ts, _etag, _lsn }
}
