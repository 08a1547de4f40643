import rhea from 'rhea'
import './rhea-types.ts'
import type { RheaConnection, RheaContainer } from './rhea-internals.ts'

export interface ServerSide {
  readonly maxFrameBytes: number
  readonly maxSessions: number
  /** Without a frame for twice as long, rhea closes the connection. */
  readonly idleTimeoutMs: number
  /** SASL PLAIN. False: the client is refused. */
  readonly logIn: (name: string, key: string) => boolean
}

/** A connection of rhea for one client, with SASL of its own. It settles and gives credit only when it is told to. */
export function createRhea({
  maxFrameBytes,
  maxSessions,
  idleTimeoutMs,
  logIn,
}: ServerSide): RheaConnection {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea's declarations know connections of clients only.
  const container = rhea.create_container({ id: 'tidemark' }) as unknown as RheaContainer
  const { sasl_server_mechanisms: mechanisms } = container
  mechanisms.enable_anonymous()
  // What .NET asks for. It says nothing, either: the token follows.
  mechanisms['MSSBCBS'] = mechanisms['ANONYMOUS']
  mechanisms.enable_plain(logIn)
  return container.create_connection({
    container_id: 'tidemark',
    max_frame_size: maxFrameBytes,
    channel_max: maxSessions - 1,
    idle_time_out: idleTimeoutMs,
    reconnect: false,
    tcp_no_delay: true,
    properties: { product: 'Tidemark' },
    receiver_options: { autoaccept: false, autosettle: false, credit_window: 0 },
    sender_options: { autosettle: false, treat_modified_as_released: false },
  })
}
