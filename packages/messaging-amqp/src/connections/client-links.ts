import { SessionLockLostError, UnauthorizedAccessError } from '@tidemark/messaging'
import type { SessionLink } from '@tidemark/messaging/front'
import { AnswerLink } from '../links/answer-link.ts'
import { RequestLink } from '../links/request-link.ts'
import type { ClientLink, HostedLinks } from '../links/client-link.ts'
import type { ConnectionClaims } from '../access/connection-claims.ts'
import { errorOnWire, isOurs, LINK_ENDED } from '../errors/error-on-wire.ts'
import { SendingLink } from '../links/sending-link.ts'
import { finishDetach, holdAttach } from '../rhea/rhea-hooks.ts'
import type { RheaLink, RheaSession } from '../rhea/rhea-internals.ts'
import type { Work } from './work.ts'

export interface ClientLinksParts {
  readonly work: Work
  readonly claims: ConnectionClaims
  readonly report: (place: string, error: unknown) => void
}

/** Of a client's answers that have no credit: above it, further ones are lost. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024

/** The links of one client. An attach is answered when its link is open, or with the error. */
export class ClientLinks implements HostedLinks {
  readonly #parts: ClientLinksParts
  readonly #open = new Map<RheaLink, ClientLink>()
  /** Aborted when the client leaves before the answer. */
  readonly #opening = new Map<RheaLink, AbortController>()
  /** Called when one ends that the client was asked to close. */
  readonly #leaving = new Map<RheaLink, (ended: Promise<void>) => void>()
  #isFinished = false

  constructor(parts: ClientLinksParts) {
    this.#parts = parts
  }

  has(link: RheaLink): boolean {
    return this.#open.has(link)
  }

  maxTransferBytes(link: RheaLink): number {
    return this.#open.get(link)?.maxTransferBytes ?? 0
  }

  takesRequests(link: RheaLink): boolean {
    return this.#open.get(link) instanceof RequestLink
  }

  /** Call it in the handler of rhea's event. */
  attach(link: RheaLink, open: (signal: AbortSignal) => Promise<ClientLink>): void {
    const { release } = holdAttach(link)
    if (this.#isFinished) return
    const leaving = new AbortController()
    this.#opening.set(link, leaving)
    this.#parts.work.start(this.#attach(link, { release, leaving: leaving.signal, open }))
  }

  /** The client has closed it. True: it is answered when what it held is given back. */
  detached(link: RheaLink): boolean {
    this.#opening.get(link)?.abort()
    const ended = this.#end(link)
    if (ended === undefined) return false
    this.#parts.work.start(ended.finally(() => finishDetach(link)))
    return true
  }

  close(link: RheaLink, error: unknown): void {
    if (isOurs(error)) this.#parts.report(`the link '${String(link.local.attach['name'])}'`, error)
    const ended = this.#end(link)
    if (ended !== undefined) this.#parts.work.start(ended)
    if (link.is_open()) link.close(errorOnWire(error))
  }

  /** Links of sessions that have ended; with `all`, every one. */
  drop({ all }: { readonly all: boolean }): void {
    for (const [link, leaving] of this.#opening) {
      if (all || !link.is_remote_open()) leaving.abort()
    }
    for (const link of this.#open.keys()) {
      const ended = all || !link.is_remote_open() ? this.#end(link) : undefined
      if (ended !== undefined) this.#parts.work.start(ended)
    }
  }

  /**
   * Takes no more messages from the client, and opens no more links. Resolves when what it has asked for is answered, and each link
   * with transfers on their way is detached. Requests are answered until the client has heard that there is no link for them: the
   * client for JavaScript ends its process when one had no answer.
   */
  async finish(): Promise<void> {
    this.#isFinished = true
    const open = [...this.#open]
    // Answers to requests go to these.
    const [answers, others] = [true, false].map((isAnswer) =>
      open.filter(([, link]) => link instanceof AnswerLink === isAnswer),
    )
    await Promise.allSettled(others!.map((one) => this.#finishOne(one)))
    await Promise.allSettled(answers!.map((one) => this.#finishOne(one)))
  }

  async #finishOne([link, open]: readonly [RheaLink, ClientLink]): Promise<void> {
    if (open instanceof RequestLink && link.is_open()) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#leaving.set(link, resolve)
      link.close(LINK_ENDED)
      await promise
    }
    // Others go with their connection: after a detach, `close()` of the client for JavaScript waits for a server that has gone.
    const isDetached = open instanceof SendingLink && open.isBusy
    const ended = this.#end(link)
    if (ended !== undefined) this.#parts.work.start(ended)
    await ended
    if (isDetached && link.is_open()) link.close(LINK_ENDED)
  }

  /** Closes those that the client may no longer use: a token has run out, or keys were replaced. */
  checkClaims(): void {
    for (const [link, open] of this.#open) {
      if (!this.#isPermitted(open)) this.close(link, expired(open))
    }
  }

  /** As `HostedLinks` says. None while too many answers wait for credit. */
  answerLink(
    path: string,
    replyTo: string | undefined,
    session: RheaSession,
  ): AnswerLink | undefined {
    let waitingBytes = 0
    let found: AnswerLink | undefined
    for (const [link, open] of this.#open) {
      if (!(open instanceof AnswerLink)) continue
      waitingBytes += open.waitingBytes
      if (!isSamePath(open.path, path) || !open.takes(replyTo)) continue
      if (found === undefined || link.session === session) found = open
    }
    return waitingBytes > MAX_WAITING_BYTES ? undefined : found
  }

  /** @throws ERR_SESSION_LOCK_LOST when none of them holds it */
  heldSession(path: string, sessionId: string, linkName: string | undefined): SessionLink {
    for (const [link, { session, path: other }] of this.#open) {
      const isNamed = linkName === undefined || link.name === linkName
      if (isNamed && session?.held.sessionId === sessionId && isSamePath(other, path))
        return session
    }
    throw new SessionLockLostError(sessionId)
  }

  async #attach(
    link: RheaLink,
    {
      release,
      leaving,
      open,
    }: {
      readonly release: () => void
      readonly leaving: AbortSignal
      readonly open: (signal: AbortSignal) => Promise<ClientLink>
    },
  ): Promise<void> {
    try {
      const opened = await open(leaving)
      if (leaving.aborted) {
        await opened.end()
        return
      }
      // A client may wait for a session longer than its token lasts.
      if (!this.#isPermitted(opened)) {
        await opened.end()
        throw expired(opened)
      }
      this.#open.set(link, opened)
      release()
      opened.begin()
    } catch (error) {
      // A client that has left gets no answer: some close their connection when they get one.
      if (leaving.aborted) return
      if (isOurs(error)) this.#parts.report(`an attach to '${addressOf(link)}'`, error)
      link.close(errorOnWire(error))
      release()
    } finally {
      this.#opening.delete(link)
    }
  }

  #isPermitted({ path, rights }: ClientLink): boolean {
    const { claims } = this.#parts
    return rights.length === 0 || rights.some((right) => claims.permits(right, path))
  }

  #end(link: RheaLink): Promise<void> | undefined {
    const open = this.#open.get(link)
    if (open === undefined) return undefined
    this.#open.delete(link)
    const ended = open.end()
    this.#leaving.get(link)?.(ended)
    this.#leaving.delete(link)
    return ended
  }
}

function expired({ path }: ClientLink): UnauthorizedAccessError {
  return new UnauthorizedAccessError(`Unauthorized access: the token for '${path}' has expired.`)
}

function addressOf(link: RheaLink): string {
  return String((link.is_receiver() ? link.target : link.source)?.address)
}

function isSamePath(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
