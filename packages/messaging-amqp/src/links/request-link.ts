import rhea from 'rhea'
import { receivedTransfer } from '../rhea/rhea-hooks.ts'
import type { RheaEvent, RheaReceiver, RheaSender } from '../rhea/rhea-internals.ts'
import { assertWellFormed } from '../values/scan-values.ts'
import type { ClientLink, LinkHost } from './client-link.ts'
import { ACCEPTED } from './outcomes.ts'

/** A request to a node, as rhea decodes its message. */
export interface NodeRequest {
  readonly properties: Readonly<Record<string, unknown>>
  readonly body: unknown
}

export interface NodeAnswer {
  /** Values may be typed by rhea. */
  readonly properties: Readonly<Record<string, unknown>>
  readonly body: unknown
}

export interface RequestLinkParts {
  readonly receiver: RheaReceiver
  readonly host: LinkHost
  /** Of the node. */
  readonly path: string
  readonly rights: ClientLink['rights']
  readonly maxTransferBytes: number
  /** Never rejects. */
  readonly answer: (request: NodeRequest) => Promise<NodeAnswer>
}

/** Requests of one link that may be on their way. */
const CREDIT = 100
/** How long an answer waits for the credit of the client, in looks. */
const MAX_LOOKS = 1_000

/** A client sends requests to a node; the answers go to another link of its own. */
export class RequestLink implements ClientLink {
  readonly path: string
  readonly rights: ClientLink['rights']
  readonly maxTransferBytes: number
  readonly #parts: RequestLinkParts
  readonly #open = new Set<Promise<void>>()
  #hasEnded = false

  constructor(parts: RequestLinkParts) {
    const { receiver, path, rights, maxTransferBytes } = parts
    this.path = path
    this.rights = rights
    this.maxTransferBytes = maxTransferBytes
    this.#parts = parts
    receiver.local.attach['source'] = receiver.source?.described()
    receiver.local.attach['target'] = receiver.target?.described()
    receiver.local.attach['max_message_size'] = maxTransferBytes
    receiver.on('message', (event: RheaEvent) => this.#take(event))
  }

  begin(): void {
    this.#parts.receiver.flow(CREDIT)
  }

  async end(): Promise<void> {
    this.#hasEnded = true
    await Promise.all(this.#open)
  }

  #take({ message, delivery }: RheaEvent): void {
    const { receiver, host } = this.#parts
    const { bytes, isTooLarge } = receivedTransfer(receiver)
    if (delivery === undefined || !Buffer.isBuffer(message)) return
    delivery.update(true, ACCEPTED)
    if (this.#hasEnded) return
    const answered = (isTooLarge ? Promise.resolve() : this.#answer(message)).finally(() => {
      this.#open.delete(answered)
      host.release(bytes)
      if (receiver.is_open()) receiver.flow(1)
    })
    this.#open.add(answered)
  }

  async #answer(bytes: Buffer): Promise<void> {
    const { host, path, answer, receiver } = this.#parts
    try {
      assertWellFormed(bytes)
      const request = decodeRequest(bytes)
      const { properties, body } = await answer(request)
      const link = host.links.answerLink(path, request.replyTo)
      if (link === undefined) return
      await this.#send(
        link,
        rhea.message.encode({
          correlation_id: request.id,
          to: request.replyTo,
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- rhea takes typed values, too.
          application_properties: properties as Record<string, string>,
          body,
        }),
      )
    } catch (error) {
      host.links.close(receiver, error)
    }
  }

  /** Settled before it is sent: what nobody settles would fill the session. */
  async #send(link: RheaSender, bytes: Buffer): Promise<void> {
    for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
      if (this.#hasEnded || !link.is_open()) return
      if (link.credit > 0 && link.session.outgoing.available() > 0) {
        await this.#parts.host.writable()
        link.send(bytes, Buffer.alloc(4), 0).settled = true
        return
      }
      await this.#parts.host.pause()
    }
  }
}

function decodeRequest(
  bytes: Buffer,
): NodeRequest & { readonly id: string | undefined; readonly replyTo: string } {
  const decoded: Readonly<Record<string, unknown>> = rhea.message.decode(bytes)
  const properties: unknown = decoded['application_properties']
  const replyTo: unknown = decoded['reply_to']
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Whatever the type of an id, it goes back as it came.
    id: decoded['message_id'] as string | undefined,
    replyTo: typeof replyTo === 'string' ? replyTo : '',
    properties: isObject(properties) ? properties : {},
    body: decoded['body'],
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
