import type { RheaSender } from '../rhea/rhea-internals.ts'
import { PROCESSED, unsentDeliveries } from '../rhea/rhea-hooks.ts'
import type { ClientLink } from './client-link.ts'

/** Answers that wait for credit: clients give it when they attach. */
const MAX_WAITING = 100

/** A client's link that takes the answers of a node. */
export class AnswerLink implements ClientLink {
  readonly path: string
  readonly rights: ClientLink['rights']
  readonly maxTransferBytes = 0
  readonly #sender: RheaSender
  /** That have no credit yet. */
  readonly #waiting: Buffer[] = []
  #waitingBytes = 0
  readonly #flush = (): void => this.#sendWaiting()

  constructor(sender: RheaSender, { path, rights }: Pick<ClientLink, 'path' | 'rights'>) {
    this.path = path
    this.rights = rights
    this.#sender = sender
    const { local, source, target, snd_settle_mode: sends, rcv_settle_mode: receives } = sender
    local.attach['source'] = source?.described()
    local.attach['target'] = target?.described()
    local.attach['snd_settle_mode'] = sends
    local.attach['rcv_settle_mode'] = receives
    sender.on('sender_flow', () => {
      this.#sendWaiting()
      if (sender._draining) sender.set_drained(true)
    })
    sender.session.on(PROCESSED, this.#flush)
  }

  begin(): void {
    // It waits for answers.
  }

  end(): Promise<void> {
    this.#sender.session.off(PROCESSED, this.#flush)
    this.#waiting.length = 0
    this.#waitingBytes = 0
    return Promise.resolve()
  }

  /** Of answers that have no credit yet. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /** Sends an answer as soon as the client gives credit. One that it has no room for is lost, as if it had come too late. */
  send(answer: Buffer): void {
    if (this.#waiting.length >= MAX_WAITING) return
    this.#waiting.push(answer)
    this.#waitingBytes += answer.length
    this.#sendWaiting()
  }

  /** Whether answers to this address go here. Some clients give the name of the link; Python gives none to `$cbs`. */
  takes(replyTo: string | undefined): boolean {
    if (replyTo === undefined) return true
    return this.#sender.name === replyTo || this.#sender.target?.address === replyTo
  }

  /** Settled before it is sent: what nobody settles would fill the session. */
  #sendWaiting(): void {
    const { session } = this.#sender
    while (this.#sender.credit > unsentDeliveries(session) && session.outgoing.available() > 0) {
      const answer = this.#waiting.shift()
      if (answer === undefined) return
      this.#waitingBytes -= answer.length
      this.#sender.send(answer, Buffer.alloc(4), 0).settled = true
    }
  }
}
