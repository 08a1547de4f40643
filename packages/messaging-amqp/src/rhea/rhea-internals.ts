import type { WireError } from '../errors/error-on-wire.ts'
import type { EventEmitter } from 'node:events'
import type { Typed } from 'rhea'

/*
 * What we use of rhea that its declarations leave out, or get wrong. Everything here was read in rhea 3.0, and the tests of
 * this folder show that it is still so.
 */
export interface RheaContainer {
  readonly sasl_server_mechanisms: {
    enable_anonymous(): void
    enable_plain(check: (name: string, key: string) => boolean): void
    [mechanism: string]: unknown
  }
  create_connection(options: Readonly<Record<string, unknown>>): RheaConnection
}

export interface RheaConnection extends EventEmitter {
  readonly local_channel_map: Readonly<Record<number, RheaSession>>
  readonly remote_channel_map: Record<number, RheaSession>
  accept(socket: unknown): void
  close(error?: WireError): void
  is_open(): boolean
  is_closed(): boolean
  _register(): void
  /** Writes what waits, and starts the timers of heartbeats. */
  output(): void
  on_open(frame: RheaFrame): void
  on_begin(frame: RheaFrame): void
  on_end(frame: RheaFrame): void
  on_attach(frame: RheaFrame): void
  on_detach(frame: RheaFrame): void
  on_transfer(frame: RheaFrame): void
  on_flow(frame: RheaFrame): void
  on_disposition(frame: RheaFrame): void
}

export interface RheaFrame {
  readonly channel: number
  /** Fields of the performative. */
  readonly performative: Record<string, unknown>
  payload?: Buffer | undefined
}

export interface RheaDisposition {
  readonly first: number
  readonly last?: number | null | undefined
  readonly settled: unknown
  readonly state: unknown
}

/** The deliveries of a session that are not settled yet, in their order. */
export interface RheaRing {
  get_head(): { readonly id: number } | undefined
  get_tail(): { readonly id: number } | undefined
}

export interface RheaSession extends EventEmitter {
  readonly outgoing: {
    readonly next_delivery_id: number
    readonly next_pending_delivery: number
    deliveries: RheaRing & { forget?(delivery: RheaDelivery): void }
    /** Outcomes that are to be written. */
    pending_dispositions: RheaDelivery[]
    available(): number
    on_disposition(fields: RheaDisposition): void
    /** Sends what it can, and forgets what is settled. */
    process(): void
  }
  readonly incoming: {
    readonly window: number
    readonly deliveries: RheaRing
    /** Undefined before the first one. */
    next_delivery_id: number | undefined
    /** Outcomes that are to be written. */
    updated: RheaDelivery[]
    process(session: RheaSession): void
  }
  readonly remote: { readonly handles: Record<number, RheaLink> }
  readonly links: Record<string, RheaLink>
  is_open(): boolean
  end(error?: WireError): void
  remove(): void
}

/** A source or target as the client gave it. */
export interface RheaTerminus {
  readonly address?: string | null | undefined
  readonly dynamic?: boolean | undefined
  readonly distribution_mode?: string | null | undefined
  filter?: Readonly<Record<string, unknown>> | null | undefined
  /** Its fields, with their types. */
  readonly value: readonly Typed[]
  /** For a terminus of our own that says the same. */
  described(): unknown
}

export interface RheaLink extends EventEmitter {
  readonly name: string
  readonly session: RheaSession
  readonly connection: RheaConnection
  readonly source: RheaTerminus | null | undefined
  readonly target: RheaTerminus | null | undefined
  readonly properties: Readonly<Record<string, unknown>> | null | undefined
  readonly snd_settle_mode: number | undefined
  readonly rcv_settle_mode: number | undefined
  readonly local: { readonly attach: Record<string, unknown> }
  readonly remote: { handle: number | undefined; readonly attach?: object | undefined }
  readonly state: { mark(token: object): void; readonly local_open: boolean }
  /** A delivery of which more is to come. */
  _incomplete: { settled: boolean; readonly frames: Buffer[] } | undefined
  issue_flow: boolean
  credit: number
  delivery_count: number
  set_source(fields: Readonly<Record<string, unknown>>): void
  set_target(fields: Readonly<Record<string, unknown>>): void
  close(error?: WireError): void
  remove(): void
  is_open(): boolean
  is_remote_open(): boolean
  is_receiver(): boolean
  /** Writes what it has to: its attach, flow and detach. */
  _process(): void
}

/** Sends to a client that receives. */
export interface RheaSender extends RheaLink {
  _draining: boolean
  set_drained(drained: boolean): void
  send(bytes: Buffer, tag: Buffer, format: number): RheaDelivery
  _get_drain(): boolean
}

/** Receives from a client that sends. */
export interface RheaReceiver extends RheaLink {
  flow(credit: number): void
}

/** What a client says of a delivery: the fields of its outcome, with their types. */
export interface RheaState {
  readonly value: readonly Typed[]
}

export interface RheaDelivery {
  readonly id: number
  readonly tag: Buffer
  readonly link: RheaLink
  /** Its bytes, cut into frames. */
  readonly data: Buffer[]
  /** The client has settled it: no answer is expected. */
  remote_settled: boolean
  readonly remote_state: RheaState | undefined
  /** Ours: the id of the one within which the client has said its state last. */
  transaction?: Buffer | undefined
  /** Our outcome. */
  readonly state: unknown
  settled: boolean
  /** Settles it with an outcome. */
  update(settled: boolean, state?: unknown): void
}

/** What rhea's events bring. */
export interface RheaEvent {
  readonly connection: RheaConnection
  readonly sender?: RheaSender
  readonly receiver?: RheaReceiver
  readonly session?: RheaSession
  readonly delivery?: RheaDelivery
  readonly message?: unknown
  readonly format?: number
  readonly error?: unknown
}
