import { ALL_RIGHTS, EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import { startAmqpServer } from '@tidemark/messaging-amqp'
import { openMessagingStore } from '../messaging/messaging-store.ts'
import type { FrontMessage, FrontTask } from './messages.ts'

// Serves until it is killed. A failure that is not a client's ends it, and so the run.

const task = JSON.parse(process.argv[2] ?? '') as FrontTask
process.on('disconnect', () => process.exit(0))
const { broker } = await openMessagingStore(task.place)
const { port } = await startAmqpServer({
  broker,
  port: task.port,
  policies: [{ name: undefined, keys: [EMULATOR_ACCESS_KEY], rights: ALL_RIGHTS }],
  onFailure({ place, error }) {
    console.error(place, error)
    process.exit(1)
  },
})
process.send?.({ kind: 'listening', port } satisfies FrontMessage)
