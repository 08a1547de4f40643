import { Client } from 'pg'
import type { PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { Ground } from '../ground.ts'
import { openBenchBroker, OwnQueue } from '../open-broker.ts'
import { RatesOfCalls } from '../queue-rates.ts'
import { msOfTakes } from './waiting.ts'

const NAME = 'postgres.messages.waiting.heldTransaction'
const WAITING = 100
/** Load of each, in seconds of a measurement: after three runs of two seconds the transaction is a minute old. */
const LOAD_TIMES = 4
const CALLERS = 16

/** A receive while another connection's transaction keeps the server from removing the rows of messages that are gone. */
export const heldTransactionScenario: Scenario = {
  name: 'postgres-messages-held-transaction',
  measures: [
    {
      name: NAME,
      unit: 'ms',
      rawIs: 'our own in another database, without such a transaction, after the same load',
      goal: { of: 'ratio', is: 'atMost', limit: 1.2 },
    },
  ],
  async prepare({ folder }): Promise<PreparedScenario> {
    const stack = new AsyncDisposableStack()
    const ground = stack.use(await Ground.of('postgres', folder))
    const held = await ground.newPlace()
    const free = await ground.newPlace()
    const queues = await Promise.all(
      [held, free].map(async (place) => {
        const { broker } = stack.use(await openBenchBroker(place))
        const queue = await OwnQueue.create(broker, 'work')
        await queue.send(WAITING)
        return queue
      }),
    )
    const [heldQueue, freeQueue] = queues
    if (heldQueue === undefined || freeQueue === undefined) throw new Error('two queues')
    stack.use(await holdTransaction(held))
    let freeMs = Number.NaN
    return {
      async ours(seconds) {
        for (const queue of [heldQueue, freeQueue]) {
          await load(queue, seconds * LOAD_TIMES)
        }
        const [heldMs = Number.NaN, ms = Number.NaN] = await msOfTakes([heldQueue, freeQueue], {
          batch: 1,
          seconds,
        })
        freeMs = ms
        return { [NAME]: heldMs }
      },
      raw: () => Promise.resolve({ [NAME]: freeMs }),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  },
}

async function load(queue: OwnQueue, seconds: number): Promise<void> {
  await new RatesOfCalls(queue).trips({ callers: CALLERS, batch: 1, seconds })
}

/** A transaction that sees everything as it is now, until it is disposed of. */
async function holdTransaction(url: string): Promise<AsyncDisposable> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await client.query('SELECT count(*) FROM pg_class')
  return { [Symbol.asyncDispose]: () => client.end() }
}
