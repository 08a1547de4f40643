import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { openSqliteEngine } from './sqlite-engine.ts'

/*
 * Creates or deletes the database of a folder, and is killed where `dieAt` says: right before a statement that begins
 * so, or before the first file is removed.
 */
const [folder = '', kind, dieAt = ''] = process.argv.slice(2)

const engine = await openSqliteEngine({ folder })
const database = DatabaseSync.prototype
const prepare = Reflect.get(database, 'prepare')
database.prepare = function (sql, ...rest) {
  if (sql.startsWith(dieAt)) process.kill(process.pid, 'SIGKILL')
  return prepare.call(this, sql, ...rest)
}
if (dieAt === 'files') {
  fs.rmSync = () => void process.kill(process.pid, 'SIGKILL')
  syncBuiltinESMExports()
}
await (kind === 'create' ? engine.createDatabase('new') : engine.deleteDatabase('db'))
