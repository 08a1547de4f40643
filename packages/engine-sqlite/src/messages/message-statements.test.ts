import { expect, test } from 'vitest'
import { Connection } from '../connection/connection.ts'
import { DATABASE_TABLES } from '../connection/schema.ts'
import { textColumn } from '../connection/column.ts'
import * as statements from './message-statements.ts'
import { makeMessageTables } from './message-tables.ts'

const connection = Connection.inMemory(DATABASE_TABLES)
makeMessageTables(connection)

function planOf(sql: string): readonly string[] {
  const values = Array.from(sql.matchAll(/\?/g), () => 1)
  return connection.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map((row) => textColumn(row, 3))
}

test('no request to the tables of messages reads more than it is for, or sorts', () => {
  const all = Object.entries(statements).filter(([name]) => name !== 'ALL_ENTITIES')
  expect(all.length).toBeGreaterThan(39)
  const plans = all.flatMap(([name, sql]) => planOf(sql).map((step) => `${name}: ${step}`))
  expect(plans.filter((step) => /\bSCAN\b|TEMP B-TREE|AUTOMATIC/.test(step))).toEqual([
    'LOOK_SESSION: SCAN CONSTANT ROW',
    // Its only row.
    'READ_PLACE: SCAN b',
    'FORWARDED_TO: SCAN CONSTANT ROW',
  ])
  const ranges = plans.filter((step) => /INDEX (message|session|seen|entity)_/.test(step))
  expect(ranges.length).toBeGreaterThan(30)
})
