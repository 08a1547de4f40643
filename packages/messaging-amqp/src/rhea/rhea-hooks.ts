import { endOfTurn } from '../platform/turns.ts'
import { ProtocolViolationError } from '../errors/protocol-violation-error.ts'
import { linkOf, sessionOf } from './frame-places.ts'
import { SentDeliveries } from './sent-deliveries.ts'
import { IncomingTransfers, type TransferHooks } from './incoming-transfers.ts'
import { transactionalState } from './transactional-state.ts'
import type {
  RheaConnection,
  RheaDelivery,
  RheaFrame,
  RheaLink,
  RheaSender,
  RheaSession,
} from './rhea-internals.ts'

export interface ConnectionLimits {
  readonly maxSessions: number
  readonly maxLinks: number
}

export interface ConnectionHooks extends TransferHooks {
  /** As they are now. */
  readonly limits: () => ConnectionLimits
  /** A client has closed a link. True: `finishDetach` answers it, and not rhea at once. */
  readonly holdsDetach: (link: RheaLink) => boolean
}

/** Event of a session: rhea has sent what it could, and forgotten what is settled. */
export const PROCESSED = 'processed'

/** Of every peer (part 2, section 2.7.1). */
const MIN_FRAME_BYTES = 512
/** Bounds of the idle time-out that a client may ask for: rhea makes a timer of it, and busy ones of its edges. */
const IDLE_BOUNDS_MS = [1_000, 3_600_000] as const
/** Descriptors of sources and targets. */
const TERMINI: ReadonlySet<string> = new Set(['40', '41', 'amqp:source:list', 'amqp:target:list'])
const COORDINATORS: ReadonlySet<string> = new Set(['48', 'amqp:coordinator:list'])
/** What clients said that attached to the coordinator of transactions. */
const coordinatorAttaches = new WeakSet<object>()

/**
 * Makes rhea a server that trusts nobody: it checks what rhea believes, and mends where rhea loses or leaks something. Each
 * method of the connection that rhea calls with a frame is wrapped; what it throws ends the connection.
 */
export function hookConnection(connection: RheaConnection, hooks: ConnectionHooks): void {
  const transfers = new IncomingTransfers(connection, hooks)
  wrap(connection, 'on_open', ({ performative }) => {
    const { idle_time_out: idle, max_frame_size: frameBytes } = performative
    // rhea would cut messages into pieces without end.
    if (typeof frameBytes === 'number' && frameBytes < MIN_FRAME_BYTES) {
      violated(`a client takes frames of ${MIN_FRAME_BYTES} bytes at least`)
    }
    if (typeof idle !== 'number') return
    const [least, most] = IDLE_BOUNDS_MS
    performative['idle_time_out'] = Math.min(Math.max(idle, least), most)
  })
  hookSessions(connection, { hooks, transfers })
  hookLinks(connection, { hooks, transfers })
  wrap(connection, 'on_flow', (frame) => checkFlow(connection, frame))
  const disposition = connection.on_disposition.bind(connection)
  connection.on_disposition = (frame) => {
    if (narrowDisposition(sessionOf(connection, frame), frame)) disposition(frame)
  }
}

interface HookParts {
  readonly hooks: ConnectionHooks
  readonly transfers: IncomingTransfers
}

function hookSessions(connection: RheaConnection, { hooks, transfers }: HookParts): void {
  const begin = connection.on_begin.bind(connection)
  connection.on_begin = (frame) => {
    const { channel, performative } = frame
    const { maxSessions } = hooks.limits()
    if (performative['remote_channel'] !== undefined && performative['remote_channel'] !== null) {
      violated('a client begins sessions of its own only')
    }
    if (connection.remote_channel_map[channel] !== undefined)
      violated(`channel ${channel} is in use`)
    if (Object.keys(connection.local_channel_map).length >= maxSessions) {
      violated(`a connection has at most ${maxSessions} sessions`, 'amqp:resource-limit-exceeded')
    }
    begin(frame)
    const session = sessionOf(connection, frame)
    separateOutcomes(session)
    keepSent(session)
    tellProcessed(session)
  }
  const end = connection.on_end.bind(connection)
  connection.on_end = (frame) => {
    const session = sessionOf(connection, frame)
    end(frame)
    for (const link of Object.values(session.links)) transfers.forget(link)
    // The client may use the channel again at once (part 2, section 2.5.4).
    delete connection.remote_channel_map[frame.channel]
  }
}

/** Keeps what was sent in any order, without its bytes: nobody asks for them again. */
function keepSent({ outgoing }: RheaSession): void {
  const sent = new SentDeliveries()
  outgoing.deliveries = sent
  const dispose = outgoing.on_disposition.bind(outgoing)
  outgoing.on_disposition = ({ first, last, settled, state }) => {
    const within = transactionalState(state)
    for (const delivery of sent.between(first, last ?? first)) {
      const { id } = delivery
      delivery.transaction = within?.transaction
      dispose({
        first: id,
        last: id,
        settled,
        state: within === undefined ? state : within.outcome,
      })
    }
  }
  const process = outgoing.process.bind(outgoing)
  let next = 0
  outgoing.process = () => {
    process()
    for (; next < outgoing.next_pending_delivery; next++) sent.by_id(next)?.data.splice(0)
  }
}

function tellProcessed(session: RheaSession): void {
  // Each link of the session may listen.
  session.setMaxListeners(0)
  const { outgoing } = session
  const process = outgoing.process.bind(outgoing)
  outgoing.process = () => {
    process()
    session.emit(PROCESSED)
  }
}

function hookLinks(connection: RheaConnection, { hooks, transfers }: HookParts): void {
  const attach = connection.on_attach.bind(connection)
  connection.on_attach = (frame) => {
    const session = sessionOf(connection, frame)
    const name = String(frame.performative['name'])
    const handle = Number(frame.performative['handle'])
    if (linkAt(session, handle) !== undefined) violated(`handle ${handle} is in use`)
    const { performative } = frame
    // A sender and a receiver of one name are two links (part 2, section 2.6.1); rhea has one map for both.
    if (performative['role'] !== true) performative['name'] = `\0${name}`
    if (session.links[String(performative['name'])] !== undefined)
      violated(`the name '${name}' is in use by another link of the session`)
    const { maxLinks } = hooks.limits()
    if (countLinks(connection) >= maxLinks) {
      violated(`a connection has at most ${maxLinks} links`, 'amqp:resource-limit-exceeded')
    }
    if (COORDINATORS.has(descriptorOf(performative['target']) ?? ''))
      coordinatorAttaches.add(performative)
    for (const terminus of ['source', 'target']) dropUnknownTerminus(frame, terminus)
    attach(frame)
    // rhea looks for it in another place, and would keep every link that a session ever had.
    const link = linkAt(session, handle)
    if (link === undefined) return
    link.remote.handle = handle
    link.local.attach['name'] = name
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
    transfers.forget(link)
    // rhea answers in the next turn, unless another mark says that something has happened.
    if (hooks.holdsDetach(link)) link.state.mark({})
  }
}

function checkFlow(connection: RheaConnection, frame: RheaFrame): void {
  const { performative } = frame
  const { handle, link_credit: credit, delivery_count: count, echo } = performative
  // A client that has not seen our begin, or our attach, knows none of our numbers yet.
  performative['next_incoming_id'] ??= 0
  if (handle === undefined || handle === null) return
  const link = linkOf(connection, frame)
  if (echo === true) link.issue_flow = true
  if (link.is_receiver()) {
    // We ask no client to drain: rhea would take over its numbers, and write to the console.
    performative['drain'] = false
    return
  }
  performative['link_credit'] = typeof credit === 'number' ? credit : 0
  performative['delivery_count'] = typeof count === 'number' ? count : link.delivery_count
}

/**
 * Leaves of a disposition what concerns deliveries that are open, and were sent. rhea takes others for ones that they are not: it
 * counts in a ring. False: nothing is left.
 */
function narrowDisposition(session: RheaSession, { performative }: RheaFrame): boolean {
  const { outgoing, incoming } = session
  const isOfSent = Boolean(performative['role'])
  const { deliveries } = isOfSent ? outgoing : incoming
  const [oldest, newest] = [deliveries.get_head()?.id, deliveries.get_tail()?.id]
  if (oldest === undefined || newest === undefined) return false
  const end = isOfSent ? Math.min(newest, outgoing.next_pending_delivery - 1) : newest
  const first = Number(performative['first'])
  const last = Math.min(Number(performative['last'] ?? first), end)
  const from = Math.max(first, oldest)
  performative['first'] = from
  performative['last'] = Math.max(from, last)
  return from <= last
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

/**
 * Answers a drain when `set_drained` was called, and at no other time, also when no credit is left: rhea does not then, and the
 * client would wait until it gives up. Nor does it count the credit down one by one, which may be 4 billion.
 */
export function hookDrain(sender: RheaSender): void {
  let isDrained = false
  sender.set_drained = (drained) => {
    isDrained = drained
    if (drained && sender._draining) sender.issue_flow = true
  }
  sender._get_drain = () => {
    if (!sender._draining || !isDrained) return false
    sender.delivery_count = (sender.delivery_count + Math.max(0, sender.credit)) >>> 0
    sender.credit = 0
    sender._draining = false
    isDrained = false
    return true
  }
}

/**
 * Writes outcomes that differ in dispositions of their own. rhea gives the second of two neighbours that are settled in one turn
 * the outcome of the first: a message that was refused would be told as stored.
 */
function separateOutcomes({ incoming, outgoing }: RheaSession): void {
  const receive = incoming.process.bind(incoming)
  incoming.process = (session) => {
    for (const run of runsOfOutcomes(incoming.updated)) {
      incoming.updated = run
      receive(session)
    }
  }
  const send = outgoing.process.bind(outgoing)
  outgoing.process = () => {
    for (const run of runsOfOutcomes(outgoing.pending_dispositions)) {
      outgoing.pending_dispositions = run
      send()
    }
  }
}

/** At least one, which may be empty. */
function runsOfOutcomes(deliveries: readonly RheaDelivery[]): RheaDelivery[][] {
  const runs: RheaDelivery[][] = [[]]
  for (const delivery of deliveries) {
    const run = runs.at(-1)
    const last = run?.at(-1)
    if (run !== undefined && (last === undefined || last.state === delivery.state))
      run.push(delivery)
    else runs.push([delivery])
  }
  return runs
}

/** Deliveries of a session that rhea has taken and not sent yet. */
export function unsentDeliveries({ outgoing }: RheaSession): number {
  return outgoing.next_delivery_id - outgoing.next_pending_delivery
}

/** Settles what was sent to a client. rhea forgets it only when both have settled, and who hears it from us says nothing more. */
export function settleSent(delivery: RheaDelivery, state?: unknown): void {
  delivery.update(true, state)
  delivery.remote_settled = true
  delivery.link.session.outgoing.deliveries.forget?.(delivery)
}

/** Answers what a client said within a transaction. The delivery is settled when that is committed (part 4, section 4.4.2). */
export function answerSent(delivery: RheaDelivery, state: unknown): void {
  delivery.update(false, state)
}

/** Answers a client's detach that was held. */
export function finishDetach(link: RheaLink): void {
  link.close()
  // After the turn in which it is written.
  endOfTurn(() => endOfTurn(() => link.remove()))
}

/** The socket has gone: what is still asked of the connection is not written, and starts no timer. */
export function silence(connection: RheaConnection): void {
  connection.output = () => undefined
}

function wrap(
  connection: RheaConnection,
  method: 'on_open' | 'on_flow',
  before: (frame: RheaFrame) => void,
): void {
  const original = connection[method].bind(connection)
  connection[method] = (frame) => {
    before(frame)
    original(frame)
  }
}

function linkAt(session: RheaSession, handle: number): RheaLink | undefined {
  return session.remote.handles[handle]
}

/** Whether the client's target is the coordinator of transactions, which rhea does not know. */
export function isCoordinator({ remote }: RheaLink): boolean {
  return remote.attach !== undefined && coordinatorAttaches.has(remote.attach)
}

/** rhea would write to the console, and take it for none. */
function dropUnknownTerminus({ performative }: RheaFrame, field: string): void {
  const descriptor = descriptorOf(performative[field])
  if (descriptor !== undefined && !TERMINI.has(descriptor)) performative[field] = null
}

function descriptorOf(terminus: unknown): string | undefined {
  if (typeof terminus !== 'object' || terminus === null) return undefined
  return String(Reflect.get(terminus, 'descriptor'))
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
