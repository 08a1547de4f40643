import { endOfTurn } from '../platform/turns.ts'
import { ProtocolViolationError } from '../errors/protocol-violation-error.ts'
import type {
  RheaConnection,
  RheaDelivery,
  RheaFrame,
  RheaLink,
  RheaSender,
  RheaSession,
} from './rhea-internals.ts'

/** The transfer that a link is receiving, or has just received. */
export interface IncomingTransfer {
  readonly format: number
  /** That have arrived. */
  bytes: number
  /** More have arrived than the link takes: those behind were thrown away. */
  isTooLarge: boolean
}

export interface ConnectionLimits {
  readonly maxSessions: number
  readonly maxLinks: number
}

export interface ConnectionHooks {
  readonly limits: ConnectionLimits
  /** The most bytes of one transfer on this link. */
  readonly maxTransferBytes: (link: RheaLink) => number
  /** Bytes of a transfer have arrived. */
  readonly onTransferBytes: (link: RheaLink, bytes: number) => void
  /** A client has closed a link. True: `finishDetach` answers it, and not rhea at once. */
  readonly holdsDetach: (link: RheaLink) => boolean
}

/** Deliveries in one disposition: more than a session can have open. */
const MAX_DISPOSITION = 4096
/** Bounds of the idle time-out that a client may ask for: rhea makes a timer of it, and busy ones of its edges. */
const IDLE_BOUNDS_MS = [1_000, 3_600_000] as const
/** Any value but 0, for which rhea would decode the message. */
const UNDECODED_FORMAT = 1
/** Descriptors of sources and targets. */
const TERMINI: ReadonlySet<string> = new Set(['40', '41', 'amqp:source:list', 'amqp:target:list'])
const NO_BYTES = Buffer.alloc(0)

const transfers = new WeakMap<RheaLink, IncomingTransfer>()

/**
 * Makes rhea a server that trusts nobody: it checks what rhea believes, and mends where rhea loses or leaks something. Each
 * method of the connection that rhea calls with a frame is wrapped; what it throws ends the connection.
 */
export function hookConnection(connection: RheaConnection, hooks: ConnectionHooks): void {
  wrap(connection, 'on_open', ({ performative }) => {
    const idle = performative['idle_time_out']
    if (typeof idle !== 'number') return
    const [least, most] = IDLE_BOUNDS_MS
    performative['idle_time_out'] = Math.min(Math.max(idle, least), most)
  })
  wrap(connection, 'on_begin', ({ channel, performative }) => {
    const { maxSessions } = hooks.limits
    if (performative['remote_channel'] !== undefined && performative['remote_channel'] !== null) {
      violated('a client begins sessions of its own only')
    }
    if (connection.remote_channel_map[channel] !== undefined)
      violated(`channel ${channel} is in use`)
    if (Object.keys(connection.local_channel_map).length >= maxSessions) {
      violated(`a connection has at most ${maxSessions} sessions`, 'amqp:resource-limit-exceeded')
    }
  })
  hookLinks(connection, hooks)
  wrap(connection, 'on_disposition', ({ performative }) => {
    const { first, last } = performative
    if (typeof first !== 'number') violated('a disposition needs a first delivery')
    if (typeof last === 'number' && (last < first || last - first > MAX_DISPOSITION)) {
      violated('a disposition names too many deliveries')
    }
  })
}

function hookLinks(connection: RheaConnection, hooks: ConnectionHooks): void {
  const attach = connection.on_attach.bind(connection)
  connection.on_attach = (frame) => {
    const session = sessionOf(connection, frame)
    const { name, handle, role } = frame.performative
    if (typeof name !== 'string' || typeof handle !== 'number' || typeof role !== 'boolean') {
      violated('an attach needs a name, a handle and a role')
    }
    if (linkAt(session, handle) !== undefined) violated(`handle ${handle} is in use`)
    if (session.links[name] !== undefined) violated('the name of a link is in use')
    const { maxLinks } = hooks.limits
    if (countLinks(connection) >= maxLinks) {
      violated(`a connection has at most ${maxLinks} links`, 'amqp:resource-limit-exceeded')
    }
    for (const terminus of ['source', 'target']) dropUnknownTerminus(frame, terminus)
    attach(frame)
    // rhea looks for it in another place, and would keep every link that a session ever had.
    const link = linkAt(session, handle)
    if (link !== undefined) link.remote.handle = handle
  }
  const detach = connection.on_detach.bind(connection)
  connection.on_detach = (frame) => {
    const session = sessionOf(connection, frame)
    const handle = Number(frame.performative['handle'])
    const link = session.remote.handles[handle]
    detach(frame)
    // The client may use the handle again at once.
    delete session.remote.handles[handle]
    if (link === undefined) return
    link.remote.handle = undefined
    // rhea answers in the next turn, unless another mark says that something has happened.
    if (hooks.holdsDetach(link)) link.state.mark({})
  }
  wrap(connection, 'on_transfer', (frame) => {
    const link = linkOf(connection, frame)
    if (!link.is_receiver()) violated('a transfer on a link that receives')
    const bytes = frame.payload?.length ?? 0
    hooks.onTransferBytes(link, bytes)
    const transfer = beginTransfer(link, frame)
    transfer.bytes += bytes
    transfer.isTooLarge ||= transfer.bytes > hooks.maxTransferBytes(link)
    // rhea expects a payload.
    if (transfer.isTooLarge || frame.payload === undefined) frame.payload = NO_BYTES
  })
  wrap(connection, 'on_flow', (frame) => {
    const { handle, link_credit: credit, delivery_count: count, echo } = frame.performative
    if (handle === undefined || handle === null) return
    const link = linkOf(connection, frame)
    if (link.is_receiver()) return
    frame.performative['link_credit'] = typeof credit === 'number' ? credit : 0
    // A client that has not seen our attach knows no count yet.
    frame.performative['delivery_count'] = typeof count === 'number' ? count : link.delivery_count
    if (echo === true) link.issue_flow = true
  })
}

/** Bytes of a transfer of which more was to come. */
export function incompleteBytes(link: RheaLink): number {
  return link._incomplete === undefined ? 0 : (transfers.get(link)?.bytes ?? 0)
}

/** The transfer that rhea hands on as a message just now. It hands on the bytes of every format as they are. */
export function receivedTransfer(link: RheaLink): IncomingTransfer {
  return transfers.get(link) ?? violated('a message without a transfer')
}

function beginTransfer(link: RheaLink, { performative }: RheaFrame): IncomingTransfer {
  const known = transfers.get(link)
  if (link._incomplete !== undefined && known !== undefined) return known
  const { message_format: format } = performative
  const transfer = { format: typeof format === 'number' ? format : 0, bytes: 0, isTooLarge: false }
  transfers.set(link, transfer)
  performative['message_format'] = UNDECODED_FORMAT
  return transfer
}

/** Keeps the answer to a client's attach back. `release` writes it, and whatever was asked of the link meanwhile. */
export function holdAttach(link: RheaLink): { readonly release: () => void } {
  const process = link._process.bind(link)
  link._process = () => undefined
  return {
    release: () => {
      link._process = process
      link.connection._register()
    },
  }
}

/** Answers a drain also when no credit is left: rhea does not, and the client would wait until it gives up. */
export function hookDrain(sender: RheaSender): void {
  sender._get_drain = () => {
    if (!sender._draining || !sender._drained) return false
    sender.delivery_count += Math.max(0, sender.credit)
    sender.credit = 0
    sender._draining = false
    return true
  }
}

/** Deliveries of a session that rhea has taken and not sent yet. */
export function unsentDeliveries({ outgoing }: RheaSession): number {
  return outgoing.next_delivery_id - outgoing.next_pending_delivery
}

/** Settles what was sent to a client. rhea forgets it only when both have settled, and who hears it from us says nothing more. */
export function settleSent(delivery: RheaDelivery, state?: unknown): void {
  delivery.update(true, state)
  delivery.remote_settled = true
}

/** Answers a client's detach that was held. */
export function finishDetach(link: RheaLink): void {
  link.close()
  // After the turn in which it is written.
  endOfTurn(() => endOfTurn(() => link.remove()))
}

type FrameMethod = 'on_open' | 'on_begin' | 'on_disposition' | 'on_transfer' | 'on_flow'

function wrap(
  connection: RheaConnection,
  method: FrameMethod,
  before: (frame: RheaFrame) => void,
): void {
  const original = connection[method].bind(connection)
  connection[method] = (frame) => {
    before(frame)
    original(frame)
  }
}

function sessionOf(connection: RheaConnection, { channel }: RheaFrame): RheaSession {
  return connection.remote_channel_map[channel] ?? violated(`no session has channel ${channel}`)
}

function linkOf(connection: RheaConnection, frame: RheaFrame): RheaLink {
  const handle = Number(frame.performative['handle'])
  const link = sessionOf(connection, frame).remote.handles[handle]
  return link ?? violated(`no link has handle ${handle}`)
}

function linkAt(session: RheaSession, handle: number): RheaLink | undefined {
  return session.remote.handles[handle]
}

/** Such as the coordinator of transactions: rhea would write to the console, and take it for none. */
function dropUnknownTerminus({ performative }: RheaFrame, field: string): void {
  const terminus = performative[field]
  if (typeof terminus !== 'object' || terminus === null) return
  const descriptor: unknown = Reflect.get(terminus, 'descriptor')
  if (!TERMINI.has(String(descriptor))) performative[field] = null
}

function countLinks(connection: RheaConnection): number {
  return Object.values(connection.local_channel_map).reduce(
    (sum, { links }) => sum + Object.keys(links).length,
    0,
  )
}

function violated(what: string, condition?: string): never {
  throw new ProtocolViolationError(`The client broke the protocol: ${what}.`, condition)
}
