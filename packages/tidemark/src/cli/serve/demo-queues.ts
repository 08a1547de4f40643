import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import type { Store } from '@tidemark/store'
import { DEMO } from './demo-database.ts'

/** The entities of `tidemark dev`, as the emulator's configuration names them. */
const CONFIG = {
  UserConfig: {
    Namespaces: [
      {
        Queues: [{ Name: DEMO.queue }],
        Topics: [{ Name: DEMO.topic, Subscriptions: [{ Name: DEMO.subscription }] }],
      },
    ],
  },
}

/** Opens the queues of the demo database, with a queue, and a topic that has a subscription. */
export async function openDemoQueues(store: Store): Promise<MessageBroker> {
  const broker = openMessaging(store.database(DEMO.database))
  await broker.applyConfig(CONFIG)
  return broker
}
