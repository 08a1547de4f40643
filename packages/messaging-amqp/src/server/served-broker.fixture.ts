import { once } from 'node:events'
import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import { openMemoryStore } from '@tidemark/testing'
import rhea, { type Connection, type EventContext, type Receiver, type Sender } from 'rhea'
import {
  startAmqpServer,
  type AmqpFailure,
  type AmqpServerOptions,
  type RunningAmqpServer,
} from './start-amqp-server.ts'

export const KEY = 'a key of the tests'

/** A front over a broker on a store in memory, and plain AMQP clients of it, made with rhea. */
export class ServedBroker implements AsyncDisposable {
  readonly broker: MessageBroker
  readonly server: RunningAmqpServer
  readonly failures: AmqpFailure[]
  readonly #connections: Connection[] = []
  readonly #close: () => Promise<void>

  private constructor(
    broker: MessageBroker,
    {
      server,
      failures,
      close,
    }: {
      readonly server: RunningAmqpServer
      readonly failures: AmqpFailure[]
      readonly close: () => Promise<void>
    },
  ) {
    this.broker = broker
    this.server = server
    this.failures = failures
    this.#close = close
  }

  static async open(options: Partial<AmqpServerOptions> = {}): Promise<ServedBroker> {
    const store = await openMemoryStore()
    const broker = openMessaging(await store.createDatabaseIfNotExists('messages'), {
      limits: { minLockDuration: 1 },
    })
    const failures: AmqpFailure[] = []
    const server = await startAmqpServer({
      broker,
      port: 0,
      policies: [{ name: 'root', keys: [KEY], rights: ['Manage'] }],
      onFailure: (failure) => void failures.push(failure),
      ...options,
    })
    const close = async (): Promise<void> => {
      await server.stop()
      await broker.close()
      await store.close()
    }
    return new ServedBroker(broker, { server, failures, close })
  }

  /** A client that gives name and key by SASL PLAIN. */
  async connect({ username = 'root', password = KEY } = {}): Promise<Connection> {
    const connection = rhea.create_container().connect({
      host: '127.0.0.1',
      port: this.server.port,
      username,
      password,
      reconnect: false,
    })
    this.#connections.push(connection)
    // What a test does not look at must not end it.
    for (const name of ['disconnected', 'error', 'connection_error', 'connection_close']) {
      connection.on(name, () => undefined)
    }
    await once(connection, 'connection_open')
    return connection
  }

  async receiver(
    address: string,
    options: Readonly<Record<string, unknown>> = {},
  ): Promise<Receiver> {
    const connection = await this.connect()
    const receiver = connection.open_receiver({
      source: address,
      credit_window: 0,
      autoaccept: false,
      ...options,
    })
    await once(receiver, 'receiver_open')
    return receiver
  }

  async sender(address: string): Promise<Sender> {
    const connection = await this.connect()
    const sender = connection.open_sender(address)
    await once(sender, 'sendable')
    return sender
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection.close()
    await this.#close()
  }
}

export async function nextEvent(link: Receiver | Sender, name: string): Promise<EventContext> {
  const [event]: EventContext[] = await once(link, name)
  if (event === undefined) throw new Error(`'${name}' came without a context`)
  return event
}
