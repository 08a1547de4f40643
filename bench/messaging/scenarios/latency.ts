import { latencyMeasures, latencyFigures, untilSize } from '../../measuring/latency-figures.ts'
import { WRITES_PER_SECOND } from '../../measuring/latency-figures.ts'
import { latencies, writePaced, type Latencies } from '../../measuring/paced-writes.ts'
import type { PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { orderDocument } from '../../data/order-document.ts'
import { figureName, Ground, type GroundEngine } from '../ground.ts'
import type { Body } from '../message-bodies.ts'
import { openBenchBroker } from '../open-broker.ts'
import { BullmqQueue } from '../peers/bullmq-queue.ts'

/** Handlers that may run at once, of either product. */
const HANDLERS = 16
const QUEUE = 'work'

/** From a send to the handler of a subscription in the same process, while 1,000 messages a second are sent. */
export function latencyScenario(engine: GroundEngine): Scenario {
  const prefix = figureName(engine, 'latency')
  const goalName = `${prefix}.fromCall.p50`
  return {
    name: `${engine === 'postgres' ? 'postgres-' : ''}messages-latency`,
    measures: latencyMeasures(prefix, 'BullMQ, Redis with appendfsync always').map((measure) =>
      measure.name === goalName
        ? { ...measure, goal: { of: 'value', is: 'atMost', limit: 2 } }
        : measure,
    ),
    async prepare({ folder }): Promise<PreparedScenario> {
      const stack = new AsyncDisposableStack()
      const ground = stack.use(await Ground.of(engine, folder))
      const bullmq = stack.use(await BullmqQueue.start())
      const { broker } = stack.use(await openBenchBroker(await ground.newPlace()))
      await broker.createQueue(QUEUE)
      const sender = broker.createSender<Body>(QUEUE)
      return {
        async ours(seconds) {
          const arrivals = new Map<number, number>()
          await using receiver = broker.createReceiver<Body>(QUEUE)
          receiver.subscribe(
            {
              processMessage({ body }) {
                arrivals.set(body.revision, machineMs())
                return Promise.resolve()
              },
              processError({ error }) {
                throw error
              },
            },
            { maxConcurrentCalls: HANDLERS },
          )
          const send = (body: Body): Promise<void> => sender.sendMessages({ body })
          return latencyFigures(prefix, await measured({ send, arrivals, seconds }))
        },
        async raw(seconds) {
          const arrivals = new Map<number, number>()
          await using consumer = await bullmq.consume(HANDLERS, ({ revision }) =>
            arrivals.set(revision, machineMs()),
          )
          const send = (body: Body): Promise<void> => consumer.add(body)
          return latencyFigures(prefix, await measured({ send, arrivals, seconds }))
        },
        [Symbol.asyncDispose]: () => stack.disposeAsync(),
      }
    },
  }
}

async function measured({
  send,
  arrivals,
  seconds,
}: {
  readonly send: (body: Body) => Promise<void>
  readonly arrivals: ReadonlyMap<number, number>
  readonly seconds: number
}): Promise<Latencies> {
  const times = await writePaced((revision) => send(orderDocument(revision, revision)), {
    perSecond: WRITES_PER_SECOND,
    seconds,
  })
  await untilSize(arrivals, times.acknowledged.size)
  return latencies(times, arrivals)
}
