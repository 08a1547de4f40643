import type { RheaSender } from '../rhea/rhea-internals.ts'
import type { ClientLink } from './client-link.ts'

/** A client's link that takes the answers of a node. */
export class AnswerLink implements ClientLink {
  readonly path: string
  readonly rights: ClientLink['rights']
  readonly maxTransferBytes = 0
  readonly sender: RheaSender

  constructor(sender: RheaSender, { path, rights }: Pick<ClientLink, 'path' | 'rights'>) {
    this.path = path
    this.rights = rights
    this.sender = sender
    const { local, source, target, snd_settle_mode: sends, rcv_settle_mode: receives } = sender
    local.attach['source'] = source?.described()
    local.attach['target'] = target?.described()
    local.attach['snd_settle_mode'] = sends
    local.attach['rcv_settle_mode'] = receives
  }

  begin(): void {
    // It waits for answers.
  }

  end(): Promise<void> {
    return Promise.resolve()
  }

  /** Whether answers to this address go here. The official client gives the name of the link to `$cbs`. */
  takes(replyTo: string): boolean {
    return this.sender.name === replyTo || this.sender.target?.address === replyTo
  }
}
