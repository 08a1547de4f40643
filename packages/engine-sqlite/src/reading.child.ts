import { DatabaseSync } from 'node:sqlite'

/*
 * Reads a database in transactions of some milliseconds, one right after the other, as somebody who pages through a
 * large collection does; several of these always overlap. Ends with the channel to its parent.
 */

const [, , file = '', readMs = ''] = process.argv
const cell = new Int32Array(new SharedArrayBuffer(4))
const connection = new DatabaseSync(file, { readOnly: true, timeout: 5000 })

function read(): void {
  connection.exec('BEGIN')
  connection.prepare('SELECT count(*) FROM doc').get()
  Atomics.wait(cell, 0, 0, Number(readMs))
  connection.exec('COMMIT')
  if (process.connected) setImmediate(read)
  else connection.close()
}

read()
process.send?.('reading')
process.on('disconnect', () => undefined)
