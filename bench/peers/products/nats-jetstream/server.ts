import { AckPolicy, DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, nanos } from '@nats-io/transport-node'
import { startNatsProcess } from '@tidemark/testing/servers'
import { customerOf, orderDocument } from '../../../data/order-document.ts'
import type { PeerEntry, RunningPeer } from '../../contract/peer.ts'

export interface NatsPlace {
  readonly url: string
  readonly stream: string
  readonly durable: string
}

const STREAM = 'orders'
const LOAD_CHUNK = 1_000
/** The default of 1,000 would hold up two workers with pages of 1,000. */
const MAX_ACK_PENDING = 4_000

/** A stream in files, a subject for each customer, and durable pull consumers. */
export const natsJetStream: PeerEntry = {
  name: 'nats-jetstream',
  isOurs: false,
  sharing: 'dynamic',
  isEmbedded: false,
  worker: new URL('worker.ts', import.meta.url),
  async start(): Promise<RunningPeer> {
    const server = await startNatsProcess()
    const connection = await connect({ servers: server.url })
    const manager = await jetstreamManager(connection)
    const stream = jetstream(connection)
    await manager.streams.add({ name: STREAM, subjects: [`${STREAM}.*`] })
    const write = async (index: number): Promise<void> => {
      const body = JSON.stringify(orderDocument(index))
      await stream.publish(`${STREAM}.${customerOf(index)}`, body)
    }
    let groups = 0
    return {
      version: `NATS ${server.version}, syncs every 2 minutes`,
      serverPids: [server.pid ?? 0],
      write,
      async load(count) {
        for (let from = 0; from < count; from += LOAD_CHUNK) {
          const length = Math.min(LOAD_CHUNK, count - from)
          await Promise.all(Array.from({ length }, (_, at) => write(from + at)))
        }
      },
      async newGroup({ begin, takeoverMs }): Promise<NatsPlace> {
        const durable = `group-${++groups}`
        await manager.consumers.add(STREAM, {
          durable_name: durable,
          ack_policy: AckPolicy.Explicit,
          ack_wait: nanos(takeoverMs),
          deliver_policy: begin === 'now' ? DeliverPolicy.New : DeliverPolicy.All,
          max_ack_pending: MAX_ACK_PENDING,
        })
        return { url: server.url, stream: STREAM, durable }
      },
      async [Symbol.asyncDispose]() {
        await connection.close()
        await server[Symbol.asyncDispose]()
      },
    }
  },
}
