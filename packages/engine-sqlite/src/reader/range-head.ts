import { parseHorizons, type Horizons } from '@tidemark/store/engine'
import type { RangeRow } from '../connection/catalog-rows.ts'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'

/** The data about a range in its open segment. */
export interface RangeHead {
  readonly lsn: number
  readonly epoch: number
  readonly horizons: Horizons
  readonly logHorizons: Horizons
}

const READ_SEGMENT = 'SELECT lsn, epoch, horizon, loghorizon FROM segment WHERE id = ?'

export function readRangeHead(connection: Connection, { segment }: RangeRow): RangeHead {
  const row = connection.get(READ_SEGMENT, segment) ?? []
  return {
    lsn: numberColumn(row, 0),
    epoch: numberColumn(row, 1),
    horizons: parseHorizons(textColumn(row, 2)),
    logHorizons: parseHorizons(textColumn(row, 3)),
  }
}
