import type { Collection, Database } from '@tidemark/store'
import type { CommandContext } from '../command-context.ts'
import { ProgressLine, grouped } from '../output/progress-line.ts'
import { importDocuments, type ImportCounts, type ImportTarget } from './import-documents.ts'
import type { ParsedItem } from './parse-items.ts'

/** What happens to a document that exists: it is replaced, or it is refused. */
export type ImportMode = 'upsert' | 'create'

/** Imports into a collection of the database. */
export function importTarget(
  database: Database,
  collection: Collection,
  mode: ImportMode,
): ImportTarget {
  const ifNoneMatch = mode === 'create' ? '*' : undefined
  return {
    async writeTogether(documents) {
      await database.commitAtomically(
        documents.map((document) => ({
          collection,
          operation: { kind: 'put', document, ifNoneMatch },
        })),
      )
    },
    async writeOne(document) {
      await (mode === 'create' ? collection.create(document) : collection.upsert(document))
    },
  }
}

/** Imports items with progress, and names bad ones on the error output. After an abort it resolves with what is done. */
export async function importItems(
  items: AsyncIterable<ParsedItem>,
  target: ImportTarget,
  run: {
    readonly form: 'text' | 'json'
    readonly context: CommandContext
    readonly signal: AbortSignal
  },
): Promise<ImportCounts> {
  const { form, context, signal } = run
  using progress = new ProgressLine(context)
  let counts: ImportCounts = { imported: 0, bad: 0 }
  try {
    return await importDocuments(items, target, {
      onProgress: (now) => {
        counts = now
        progress.draw(`${grouped(now.imported)} documents imported, ${now.bad} bad`)
      },
      onBad: ({ line, reason }) => {
        if (form === 'json') {
          context.errors.write(`${JSON.stringify({ event: 'bad', line, reason })}\n`)
        } else {
          progress.say(`line ${line}: ${reason}`)
        }
      },
    })
  } catch (error) {
    // Interrupted: what was imported stays, and is counted.
    if (!signal.aborted) throw error
    return counts
  }
}
