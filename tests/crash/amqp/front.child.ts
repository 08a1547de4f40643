import { ALL_RIGHTS, EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import { startAmqpServer } from '@tidemark/messaging-amqp'
import { openMessagingStore } from '../messaging/messaging-store.ts'
import type { FrontMessage, FrontTask } from './messages.ts'

// Serves until it is killed, or asked to stop. A failure that is not a client's ends it, and so the run.

const task = JSON.parse(process.argv[2] ?? '') as FrontTask
process.on('disconnect', () => process.exit(0))
const store = await openMessagingStore(task.place)
const { broker } = store
const server = await startAmqpServer({
  broker,
  port: task.port,
  policies: [{ name: undefined, keys: [EMULATOR_ACCESS_KEY], rights: ALL_RIGHTS }],
  onFailure({ place, error }) {
    console.error(place, error)
    process.exit(1)
  },
})
process.once('SIGTERM', () => void stop())
process.send?.({ kind: 'listening', port: server.port } satisfies FrontMessage)

async function stop(): Promise<void> {
  await server.stop()
  await store[Symbol.asyncDispose]()
  process.exit(0)
}
