import { ProtocolViolationError } from '../errors/protocol-violation-error.ts'
import type { RheaConnection, RheaFrame, RheaLink, RheaSession } from './rhea-internals.ts'

/** The session that a frame is for. @throws ERR_PROTOCOL_VIOLATION */
export function sessionOf(connection: RheaConnection, { channel }: RheaFrame): RheaSession {
  return connection.remote_channel_map[channel] ?? missing(`no session has channel ${channel}`)
}

/** The link that a frame is for. @throws ERR_PROTOCOL_VIOLATION */
export function linkOf(connection: RheaConnection, frame: RheaFrame): RheaLink {
  const handle = Number(frame.performative['handle'])
  const link = sessionOf(connection, frame).remote.handles[handle]
  return link ?? missing(`no link has handle ${handle}`)
}

function missing(what: string): never {
  throw new ProtocolViolationError(`The client broke the protocol: ${what}.`)
}
