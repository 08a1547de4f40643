import { versionAging } from '@tidemark/store/engine'
import type { CollectionRow } from '../../connection/catalog-rows.ts'
import { raiseCatalogVersion } from '../../connection/head.ts'
import type { PieceContext } from './piece.ts'
import { removeAged, type RemovedPiece } from './remove-aged.ts'

/** Removes entries after their retention, or all entries after the log was switched off (CF-11). */
export function trimVersions(
  context: PieceContext,
  collection: CollectionRow,
  from: number,
): RemovedPiece {
  if (!collection.logged) return { items: 0, more: false, resumeAt: undefined }
  const aging = versionAging(collection.record, context.timeMs)
  const piece = removeAged(context, collection, { aging, from })
  const isEmpty = piece.items === 0 && piece.resumeAt === undefined
  if (isEmpty && collection.record.definition.allVersions === null) {
    const { number } = collection.record
    context.connection.run('UPDATE collection SET logged = 0 WHERE number = ?', number)
    raiseCatalogVersion(context.connection)
  }
  return piece
}
