import { join } from 'node:path'
import { openMemoryEngine, openSqliteEngine } from '@tidemark/engine-sqlite'
import { openMessaging } from '@tidemark/messaging'
import { startAmqpServer } from '@tidemark/messaging-amqp'
import { ALL_RIGHTS, EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import { Store } from '@tidemark/store'
import { serveParent } from '../../measuring/child-process.ts'
import { IDLE, TIMED, USER, WORK } from '../queues.ts'
import { replyOf, type ServerReply, type ServerRequest } from '../server-requests.ts'

/* Our front, as `tidemark serve` starts it. */

let port = 0

serveParent<ServerRequest, ServerReply>(async (request) => {
  if (request.kind === 'start') port = await start(request.folder)
  return replyOf(port)
})

async function start(folder: string | undefined): Promise<number> {
  const engine =
    folder === undefined
      ? openMemoryEngine()
      : await openSqliteEngine({ folder: join(folder, 'store') })
  const store = await Store.open({ engine })
  const broker = openMessaging(await store.createDatabaseIfNotExists('messages'))
  for (const name of [WORK, TIMED, IDLE]) {
    // Locks last longer than a measurement, and quotas are not what is measured.
    await broker.createQueue(name, { lockDuration: 'PT5M', maxSizeInMegabytes: 81_920 })
  }
  const server = await startAmqpServer({
    broker,
    port: 0,
    policies: [{ name: USER, keys: [EMULATOR_ACCESS_KEY], rights: ALL_RIGHTS }],
    onFailure({ error }) {
      throw error
    },
  })
  return server.port
}
