import { setTimeout as sleep } from 'node:timers/promises'
import { openMessaging } from '@tidemark/messaging'
import type { PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { openStoreIn } from '../../store/open-bench-store.ts'
import { CountedClock, countedDatabase, Counts } from '../counted-database.ts'
import { figureName, Ground, type GroundEngine } from '../ground.ts'
import { OwnQueue } from '../open-broker.ts'

const QUEUES = 1_000
/** Times the seconds of a measurement: ten for the usual two. */
const IDLE_TIMES = 5

/** A thousand queues that were used once and have a subscribed receiver each. */
export function idleScenario(engine: GroundEngine): Scenario {
  const name = figureName(engine, 'idle')
  return {
    name: `${engine === 'postgres' ? 'postgres-' : ''}messages-idle`,
    measures: [
      {
        name,
        unit: 'calls + timers',
        rawIs: 'of one message in one of them: sent, received, completed',
        goal: { of: 'value', is: 'atMost', limit: 0 },
      },
    ],
    async prepare({ folder, manyDocuments }): Promise<PreparedScenario> {
      const stack = new AsyncDisposableStack()
      const ground = stack.use(await Ground.of(engine, folder))
      const store = await openStoreIn(await ground.newPlace())
      stack.defer(() => store.close())
      const counts = new Counts()
      const database = countedDatabase(await store.createDatabaseIfNotExists('messages'), counts)
      const broker = openMessaging(database, { clock: new CountedClock(counts) })
      stack.use(broker)
      const queues = Math.min(QUEUES, Math.ceil(manyDocuments / 100))
      for (let index = 0; index < queues; index++) {
        const queue = await OwnQueue.create(broker, `queue-${index}`)
        await queue.send(1)
        await queue.take(1)
        queue.subscribe()
      }
      const first = broker.createSender('queue-0')
      const during = async (act: () => Promise<unknown>): Promise<number> => {
        const before = counts.sum
        await act()
        return counts.sum - before
      }
      return {
        async ours(seconds) {
          // What the uses before have left to do ends within a second.
          await sleep(Math.min(1, seconds) * 1000)
          return { [name]: await during(() => sleep(seconds * IDLE_TIMES * 1000)) }
        },
        async raw(seconds) {
          const count = await during(async () => {
            await first.sendMessages({ body: 'wake' })
            await sleep(Math.min(1, seconds) * 1000)
          })
          return { [name]: count }
        },
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}
