import { UnsupportedServerError } from '@tidemark/contracts'
import { booleanColumn, textColumn } from './columns.ts'
import type { Connections } from './connections.ts'
import type { Statement } from './sql.ts'
import { AURORA, POSTGRES, YUGABYTE, type Dialect } from '../dialect/dialect.ts'

const WHICH: Statement = {
  name: 'tidemark_dialect',
  text: `SELECT version(), to_regproc('aurora_version') IS NOT NULL`,
}

/** The server's dialect. Rejects with ERR_SERVER_UNSUPPORTED for a server that cannot hold a store. */
export async function detectDialect(connections: Connections): Promise<Dialect> {
  const [row = []] = await connections.read(WHICH)
  return dialectOf(textColumn(row, 0), { isAurora: booleanColumn(row, 1) })
}

/** @throws ERR_SERVER_UNSUPPORTED */
export function dialectOf(version: string, { isAurora }: { readonly isAurora: boolean }): Dialect {
  if (version.includes('CockroachDB')) {
    throw new UnsupportedServerError(
      `${version}: pages need FETCH FIRST … WITH TIES, and functions their own settings, which it does not have`,
    )
  }
  if (version.includes('-YB-')) return YUGABYTE
  return isAurora ? AURORA : POSTGRES
}
