import {
  lsn,
  type BatchAttempts,
  type Continuation,
  type DocumentBody,
  type Stored,
} from '@tidemark/contracts'
import {
  newGroupState,
  type LeaseGroupState,
  type LeaseRecord,
  type SessionRecord,
} from '@tidemark/processor/lease-model'
import type { DocumentsSnapshot } from '../../fake-document-collection.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads a group's state from its documents as an onlooker: what hosts would see if they read all of them now.
 * Of what has not changed it hands out the same objects as before.
 */
export class DocumentState {
  readonly #leases = new WeakMap<Fields, LeaseRecord>()
  readonly #sessions = new Map<string, SessionRecord>()
  #snapshot: DocumentsSnapshot | undefined
  #state: LeaseGroupState = newGroupState('')

  read(snapshot: DocumentsSnapshot): LeaseGroupState {
    if (snapshot === this.#snapshot) return this.#state
    this.#snapshot = snapshot
    const documents = [...snapshot.values()].map(fieldsOf)
    const group = documents.find((one) => one['kind'] === 'group')
    const set = group?.['set']
    const leases = documents.filter((one) => one['kind'] === 'lease' && one['set'] === set)
    const plan = documents.find((one) => one['id'] === 'plan' && one['set'] === set)
    this.#state = {
      head: group === undefined ? newGroupState('').head : this.#head(group),
      leases: new Map(leases.map((one) => [String(one['leaseId']), this.#lease(one)])),
      wasGivenLeases: set !== undefined,
      targets: new Map(plan === undefined ? [] : targetsOf(plan)),
    }
    return this.#state
  }

  #head(group: Fields): LeaseGroupState['head'] {
    // Written by the lease store under test; what is wrong with it shows in the oracles.
    const head = group as unknown as LeaseGroupState['head']
    const sessions = group['sessions'] as readonly SessionRecord[]
    return { ...head, sessions: new Map(sessions.map((one) => [one.host, this.#session(one)])) }
  }

  #session(session: SessionRecord): SessionRecord {
    const known = this.#sessions.get(session.host)
    const isSame =
      known?.incarnation === session.incarnation &&
      known.deadlineMs === session.deadlineMs &&
      known.beatMs === session.beatMs
    if (isSame) return known
    this.#sessions.set(session.host, session)
    return session
  }

  #lease(document: Fields): LeaseRecord {
    const known = this.#leases.get(document)
    if (known !== undefined) return known
    const { owner, incarnation } = document as { owner?: string; incarnation?: string }
    const record: LeaseRecord = {
      id: String(document['leaseId']),
      owner:
        owner === undefined || incarnation === undefined ? undefined : { host: owner, incarnation },
      epoch: Number(document['epoch']),
      checkpoint: {
        continuation: String(document['continuation']) as Continuation,
        lsn: lsn(Number(document['lsn'])),
        // As the store itself wrote them.
        attempts: document['attempts'] as BatchAttempts | undefined,
      },
      changedMs: Number(document['changedMs']),
      version: Number(document['version']),
    }
    this.#leases.set(document, record)
    return record
  }
}

function fieldsOf(document: Stored<DocumentBody>): Fields {
  return document as unknown as Fields
}

function targetsOf(plan: Fields): [string, string][] {
  const hosts = plan['hosts'] as readonly { host: string; leaseIds: readonly string[] }[]
  return hosts.flatMap(({ host, leaseIds }) =>
    leaseIds.map((leaseId): [string, string] => [leaseId, host]),
  )
}
