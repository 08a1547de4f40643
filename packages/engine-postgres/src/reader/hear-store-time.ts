import { numberColumn } from '../connection/columns.ts'
import type { ReadContext } from './read-context.ts'

const STORE_TIME = `SELECT greatest((SELECT max(clock) FROM :schema.database), :server_now)`

/**
 * Reads the server's time. Until then a process has only its own clock, which may be ahead. Store time never goes back,
 * so it would stay ahead for as long as the machine's clock is.
 */
export async function hearStoreTime({
  connections,
  statements,
  clock,
}: Pick<ReadContext, 'connections' | 'statements' | 'clock'>): Promise<void> {
  if (clock.isOwn) return
  const [row = []] = await connections.read(statements.of(STORE_TIME))
  clock.heard(numberColumn(row, 0))
}
