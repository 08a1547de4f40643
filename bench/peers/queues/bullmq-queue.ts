import { setTimeout as sleep } from 'node:timers/promises'
import { startRedisProcess, type RedisProcess } from '@tidemark/testing/servers'
import { Queue, Worker } from 'bullmq'
import { machineMs } from '../../measuring/stopwatch.ts'
import { MessageBodies, type Body } from '../../messaging/message-bodies.ts'
import { Semaphore } from './semaphore.ts'
import {
  fillWith,
  messagesFor,
  rateOfCallers,
  type Load,
  type QueueRates,
} from '../../messaging/queue-rates.ts'

const QUEUE = 'work'
const JOB = 'order'

/** A Redis that has on disk what it acknowledges, as our store has. */
function startDurableRedis(): Promise<RedisProcess> {
  return startRedisProcess({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
}

/**
 * A queue of BullMQ on a Redis of its own. Its worker has a handler that does nothing, and takes as many jobs at once as the
 * callers would with their calls. Completed jobs are removed.
 */
export class BullmqQueue implements QueueRates {
  readonly #redis: RedisProcess
  readonly #queue: Queue<Body>
  readonly #bodies = new MessageBodies()

  private constructor(redis: RedisProcess) {
    this.#redis = redis
    this.#queue = new Queue(QUEUE, {
      connection: this.#connection(),
      defaultJobOptions: { removeOnComplete: true },
    })
  }

  static async start(): Promise<BullmqQueue> {
    const queue = new BullmqQueue(await startDurableRedis())
    await queue.#queue.waitUntilReady()
    return queue
  }

  sends({ batch, ...load }: Load): Promise<number> {
    return rateOfCallers(async () => {
      await this.#send(batch)
      return batch
    }, load)
  }

  async receives(load: Load): Promise<number> {
    await this.#fill(messagesFor(load))
    const total = await this.#queue.getWaitingCount()
    let completed = 0
    let started = 0
    const worker = this.#worker(load, {
      process: () => Promise.resolve(),
      onCompleted: () => {
        // The first one includes the start of the worker.
        if (started === 0) started = machineMs()
        else completed++
      },
    })
    await worker.waitUntilReady()
    void worker.run()
    const isOver = (): boolean => started > 0 && machineMs() > started + load.seconds * 1000
    while (!isOver() && completed < total - 1) await sleep(1)
    const rate = (completed / (machineMs() - started)) * 1000
    await worker.close()
    return rate
  }

  /**
   * Each caller adds, lets the worker's handler end for as many jobs, and waits until so many are completed. Enough jobs wait
   * that the worker always has some: completing one fetches the next one in the same command, and nobody waits to be woken.
   */
  async trips({ batch, ...load }: Load): Promise<number> {
    await this.#fill(2 * load.callers * batch)
    const turns = new Semaphore()
    const completions = new Semaphore()
    const worker = this.#worker(
      { batch, ...load },
      { process: () => turns.take(), onCompleted: () => completions.give(1) },
    )
    await worker.waitUntilReady()
    void worker.run()
    const rate = await rateOfCallers(async () => {
      await this.#send(batch)
      turns.give(batch)
      for (let left = batch; left > 0; left--) await completions.take()
      return batch
    }, load)
    turns.give(load.callers * batch)
    await worker.close()
    return rate
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#queue.close()
    await this.#redis.stop()
  }

  async #send(count: number): Promise<void> {
    if (count === 1) await this.#queue.add(JOB, this.#bodies.one())
    else await this.#queue.addBulk(this.#bodies.many(count).map((data) => ({ name: JOB, data })))
  }

  async #fill(count: number): Promise<void> {
    const missing = count - (await this.#queue.getWaitingCount())
    await fillWith((some) => this.#send(some), missing)
  }

  #worker(
    { callers, batch }: Pick<Load, 'callers' | 'batch'>,
    { process, onCompleted }: { process: (body: Body) => Promise<void>; onCompleted: () => void },
  ): Worker<Body> {
    const worker = new Worker<Body>(QUEUE, ({ data }) => process(data), {
      connection: this.#connection(),
      concurrency: callers * batch,
      autorun: false,
    })
    worker.on('completed', onCompleted)
    worker.on('error', (error) => console.error(error))
    return worker
  }

  #connection(): { host: string; port: number; maxRetriesPerRequest: null } {
    return { host: this.#redis.host, port: this.#redis.port, maxRetriesPerRequest: null }
  }
}
