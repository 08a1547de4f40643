import { jetstream, type ConsumerMessages } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import type { OrderDocument } from '../../../data/order-document.ts'
import type { JoinGroup } from '../../contract/worker.ts'
import type { NatsPlace } from './server.ts'

/** Messages come one by one; the client keeps a page of them on its way. */
export const join: JoinGroup<NatsPlace> = async ({ place, ...task }, handle) => {
  const connection = await connect({ servers: place.url })
  const consumer = await jetstream(connection).consumers.get(place.stream, place.durable)
  let consuming: Promise<ConsumerMessages> | undefined
  const consume = (): void => {
    consuming = consumer.consume({
      max_messages: task.pageSize,
      callback(message) {
        handle([message.json<OrderDocument>()])
        message.ack()
      },
    })
  }
  void task.gate.then(consume)
  return {
    shares: undefined,
    async [Symbol.asyncDispose]() {
      await (await consuming)?.close()
      await connection.drain()
    },
  }
}
