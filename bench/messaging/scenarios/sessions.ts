import { errorCode } from '@tidemark/contracts'
import type { MessageBroker } from '@tidemark/messaging'
import type { Measure, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { figureName, Ground, type GroundEngine } from '../ground.ts'
import { MessageBodies } from '../message-bodies.ts'
import { openBenchBroker } from '../open-broker.ts'

const SESSIONS = 1_000
const MESSAGES_OF_SESSION = 20
const WORKERS = 16
/** Messages of one call that fills the queue. */
const FILL_BATCH = 500

const WITH = 'sessions'
const WITHOUT = 'no-sessions'

/** A thousand sessions with 20 messages each, which workers accept one after the other and empty. */
export function sessionsScenario(engine: GroundEngine): Scenario {
  const name = figureName(engine, 'sessions1000')
  const measures: readonly Measure[] = [
    {
      name,
      unit: 'messages/s',
      rawIs: 'the same messages without sessions, received 20 at a time',
    },
  ]
  return {
    name: `${engine === 'postgres' ? 'postgres-' : ''}messages-sessions`,
    measures,
    async prepare({ folder, manyDocuments }): Promise<PreparedScenario> {
      const sessions = Math.min(SESSIONS, Math.ceil(manyDocuments / (5 * MESSAGES_OF_SESSION)))
      const stack = new AsyncDisposableStack()
      const ground = stack.use(await Ground.of(engine, folder))
      const { broker } = stack.use(await openBenchBroker(await ground.newPlace()))
      await broker.createQueue(WITH, { requiresSession: true })
      await broker.createQueue(WITHOUT)
      const measure = async (
        queue: string,
        takeSome: (broker: MessageBroker) => Promise<number>,
      ): Promise<number> => {
        const total = await fill(broker, queue, sessions)
        const started = machineMs()
        let taken = 0
        const work = async (): Promise<void> => {
          while (taken < total) {
            const some = await takeSome(broker)
            taken += some
          }
        }
        await Promise.all(Array.from({ length: WORKERS }, work))
        return (total / (machineMs() - started)) * 1000
      }
      return {
        ours: async () => ({ [name]: await measure(WITH, emptyNextSession) }),
        raw: async () => ({ [name]: await measure(WITHOUT, takeWithoutSession) }),
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}

/** The messages of the sessions take turns, as those of many customers do. Resolves with how many there are. */
async function fill(broker: MessageBroker, queue: string, sessions: number): Promise<number> {
  await using sender = broker.createSender(queue)
  const total = sessions * MESSAGES_OF_SESSION
  const bodies = new MessageBodies()
  for (let from = 0; from < total; from += FILL_BATCH) {
    const count = Math.min(FILL_BATCH, total - from)
    await sender.sendMessages(
      bodies.many(count).map((body, index) => ({
        body,
        sessionId: queue === WITH ? `session-${(from + index) % sessions}` : undefined,
      })),
    )
  }
  return total
}

/** None when no session is free at the moment. */
async function emptyNextSession(broker: MessageBroker): Promise<number> {
  try {
    await using session = await broker.acceptNextSession(WITH, { maxWaitTimeInMs: 0 })
    let taken = 0
    for (;;) {
      const messages = await session.receiveMessages(MESSAGES_OF_SESSION, { maxWaitTimeInMs: 0 })
      if (messages.length === 0) return taken
      await Promise.all(messages.map((message) => session.completeMessage(message)))
      taken += messages.length
      // All of them are there before the first is taken.
      if (taken >= MESSAGES_OF_SESSION) return taken
    }
  } catch (error) {
    if (errorCode(error) === 'ERR_SERVICE_TIMEOUT') return 0
    throw error
  }
}

async function takeWithoutSession(broker: MessageBroker): Promise<number> {
  await using receiver = broker.createReceiver(WITHOUT)
  const messages = await receiver.receiveMessages(MESSAGES_OF_SESSION, { maxWaitTimeInMs: 0 })
  await Promise.all(messages.map((message) => receiver.completeMessage(message)))
  return messages.length
}
