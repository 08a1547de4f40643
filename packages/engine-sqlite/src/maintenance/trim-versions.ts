import { FULL_RANGE } from '@tidemark/contracts'
import type { CollectionRow } from '../connection/catalog-rows.ts'
import { raiseCatalogVersion } from '../connection/head.ts'
import type { PieceContext } from './piece.ts'
import { removeAged, type Aging, type RemovedPiece } from './remove-aged.ts'

/** Removes entries after their retention, or all entries after the log was switched off (CF-11). */
export function trimVersions(
  context: PieceContext,
  collection: CollectionRow,
  from: number,
): RemovedPiece {
  if (!collection.logged) return { items: 0, more: false, resumeAt: undefined }
  const keepsFromMs = versionsKeptFromMs(collection, context.timeMs)
  const aging: Aging = {
    kind: 'versions',
    mayGo: ({ writtenAt }) => writtenAt <= keepsFromMs,
    keysAround: () => FULL_RANGE,
  }
  const piece = removeAged(context, collection, { aging, from })
  const isWholePass = from === 0 && piece.resumeAt === undefined
  if (isWholePass && piece.items === 0 && collection.record.definition.allVersions === null) {
    const { number } = collection.record
    context.connection.run('UPDATE collection SET logged = 0 WHERE number = ?', number)
    raiseCatalogVersion(context.connection)
  }
  return piece
}

/** Entries with a commit time from here on are kept, epoch ms. */
export function versionsKeptFromMs({ record }: CollectionRow, timeMs: number): number {
  const { allVersions } = record.definition
  return allVersions === null ? Infinity : timeMs - allVersions.retentionSeconds * 1000
}
