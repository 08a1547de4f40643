import { numberColumn, textColumn } from '../../connection/column.ts'
import type { Connection } from '../../connection/connection.ts'

/** The process that maintains the database, and until when at least, in store time (epoch ms). */
export interface MaintenanceLease {
  readonly holder: string
  readonly untilMs: number
}

/** The lease in force; undefined when any process can take it. */
export function readMaintenanceLease(
  connection: Connection,
  nowMs: number,
): MaintenanceLease | undefined {
  const row = connection.get('SELECT holder, until FROM head') ?? []
  const lease = { holder: textColumn(row, 0), untilMs: numberColumn(row, 1) }
  return lease.holder === '' || lease.untilMs <= nowMs ? undefined : lease
}

/** Takes or renews the lease. Returns another lease that is in force, if there is one. */
export function takeMaintenanceLease(
  connection: Connection,
  { holder, leaseMs }: { readonly holder: string; readonly leaseMs: number },
  nowMs: number,
): MaintenanceLease | undefined {
  const present = readMaintenanceLease(connection, nowMs)
  if (present !== undefined && present.holder !== holder) return present
  // It rises with each renewal, so others see the renewal even while the store's clock stands still.
  connection.run(
    'UPDATE head SET until = max(?, CASE holder WHEN ? THEN until + 1 ELSE 0 END), holder = ?',
    nowMs + leaseMs,
    holder,
    holder,
  )
  return undefined
}

export function releaseMaintenanceLease(connection: Connection, holder: string): void {
  connection.run(`UPDATE head SET holder = '', until = 0 WHERE holder = ?`, holder)
}
