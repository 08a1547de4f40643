import type { EntityRecord, StoredMessage } from '@tidemark/messaging/front'
import { encodeDelivery } from '../messages/encode-delivery.ts'
import { unsentDeliveries } from '../rhea/rhea-hooks.ts'
import type { RheaSender } from '../rhea/rhea-internals.ts'
import type { ClientLink, LinkHost } from './client-link.ts'

export interface BrowsingLinkParts {
  readonly sender: RheaSender
  readonly host: LinkHost
  readonly record: EntityRecord
}

/** Messages that are looked at together, and their bytes. */
const MAX_MESSAGES = 100
const MAX_BYTES = 1024 * 1024

/** A client looks at the messages of an entity, each once, in their order (`distribution-mode: copy`). It takes and locks none. */
export class BrowsingLink implements ClientLink {
  readonly path: string
  readonly rights = ['Listen'] as const
  readonly maxTransferBytes = 0
  readonly #sender: RheaSender
  readonly #host: LinkHost
  #next = 0
  #hasEnded = false
  #isAsked = false
  #run: Promise<void> | undefined

  constructor({ sender, host, record }: BrowsingLinkParts) {
    this.path = record.path
    this.#sender = sender
    this.#host = host
    const { local, target, rcv_settle_mode: receives } = sender
    local.attach['target'] = target?.described()
    local.attach['snd_settle_mode'] = SETTLED
    local.attach['rcv_settle_mode'] = receives
    sender.on('sender_flow', () => this.begin())
  }

  /** The client may have given credit before. */
  begin(): void {
    this.#isAsked = true
    this.#run ??= this.#browse().finally(() => (this.#run = undefined))
  }

  async end(): Promise<void> {
    this.#hasEnded = true
    await this.#run
  }

  async #browse(): Promise<void> {
    try {
      while (this.#isAsked && !this.#hasEnded) {
        this.#isAsked = false
        await this.#sendNext()
      }
    } catch (error) {
      if (!this.#hasEnded) this.#host.links.close(this.#sender, error)
    }
  }

  async #sendNext(): Promise<void> {
    const { credit, session } = this.#sender
    const max = Math.min(MAX_MESSAGES, credit - unsentDeliveries(session))
    await this.#host.writable()
    const request = { session: undefined, fromNumber: this.#next, max, maxBytes: MAX_BYTES }
    const messages = max > 0 ? await this.#host.front.peek(this.path, request) : []
    for (const message of messages) this.#send(message)
    if (messages.length > 0) {
      this.#isAsked = true
    } else if (this.#sender._draining) {
      this.#sender.set_drained(true)
      this.#sender.connection._register()
    }
  }

  #send(message: StoredMessage): void {
    this.#next = message.number + 1
    const tag = Buffer.alloc(8)
    tag.writeBigUInt64BE(BigInt(message.number))
    this.#sender.send(encodeDelivery(message, undefined), tag, 0).settled = true
  }
}

const SETTLED = 1
