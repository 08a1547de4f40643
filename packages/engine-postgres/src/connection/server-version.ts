import { UnsupportedServerError } from '@tidemark/contracts'
import { numberColumn } from './columns.ts'
import type { Session } from './session.ts'
import type { Statement } from './sql.ts'

export interface ServerInfo {
  /** As in `server_version_num`: 150004 is 15.4. */
  readonly version: number
}

const VERSION: Statement = {
  name: 'tidemark_version',
  text: `SELECT current_setting('server_version_num')`,
}

/** Rejects with ERR_SERVER_UNSUPPORTED for an older server. */
export async function readServerVersion(session: Session, oldestVersion: number): Promise<number> {
  const [row = []] = await session.rows(VERSION, [], { prepared: false })
  const version = numberColumn(row, 0)
  if (version >= oldestVersion) return version
  throw new UnsupportedServerError(
    `PostgreSQL ${versionText(oldestVersion)} or later is needed, the server is ${versionText(version)}`,
  )
}

function versionText(version: number): string {
  return `${Math.floor(version / 10_000)}.${version % 10_000}`
}
