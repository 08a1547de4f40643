import { runProcedure } from '@tidemark/store/messages'
import { messageRowsConformance } from '@tidemark/testing/conformance'
import { Connection } from '../connection/connection.ts'
import { DATABASE_TABLES } from '../connection/schema.ts'
import { MessageRows } from './message-rows.ts'
import { makeMessageTables } from './message-tables.ts'

messageRowsConformance({
  name: 'sqlite',
  async open() {
    const connection = Connection.inMemory(DATABASE_TABLES)
    makeMessageTables(connection)
    const rows = new MessageRows(connection)
    return {
      async transact(procedure) {
        return connection.transaction('BEGIN', () => runProcedure(procedure, rows))
      },
      async [Symbol.asyncDispose]() {
        connection.close()
      },
    }
  },
})
