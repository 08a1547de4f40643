import { ResourceNotFoundError } from '@tidemark/contracts'
import { NOT_SUPPORTED, refusalOf, type NotSupported } from '../errors/not-supported.ts'
import { UnsupportedRequestError } from '../errors/unsupported-request-error.ts'
import type { ResourcePath } from '../protocol/resource-path.ts'
import type { Operation } from '../requests/gateway-request.ts'
import { answerList } from './answer-list.ts'

/** Name of the list in an answer, by the last part of its path. */
const LIST_NAMES: ReadonlyMap<string, string> = new Map([
  ['sprocs', 'StoredProcedures'],
  ['triggers', 'Triggers'],
  ['udfs', 'UserDefinedFunctions'],
  ['conflicts', 'Conflicts'],
])

/** Lists of what a container never has here are empty (ST-11: a transactional batch is the transaction). */
export const listNothing: Operation = async (request) => {
  const name = LIST_NAMES.get(request.path.segments[4] ?? '') ?? ''
  return answerList(request, { rid: '', name, items: [], bodyOf: () => ({}) })
}

/** None of them ever exists: set-up code that looks first, or deletes before it creates, gets a 404. */
export const findNothing: Operation = async ({ path }) => {
  throw new ResourceNotFoundError('document', `/${path.raw}`)
}

const SCRIPTS: ReadonlyMap<string, NotSupported> = new Map([
  ['sprocs', NOT_SUPPORTED.storedProcedures],
  ['triggers', NOT_SUPPORTED.triggers],
  ['udfs', NOT_SUPPORTED.userDefinedFunctions],
])

/** Stored procedures, triggers and functions are neither made nor run. */
export const refuseScripts: Operation = async ({ path }) => {
  const refused = SCRIPTS.get(path.segments[4] ?? '') ?? NOT_SUPPORTED.conflicts
  throw new UnsupportedRequestError(refusalOf(refused))
}

/**
 * Clients sign a request for addresses as one for the resource that they belong to, not for this path. So the signature
 * is not checked: without one the answer is the same.
 *
 * @throws ERR_UNSUPPORTED_REQUEST
 */
export function refuseDirectMode({ segments }: ResourcePath): void {
  if (segments[0]?.toLowerCase() !== 'addresses') return
  throw new UnsupportedRequestError(refusalOf(NOT_SUPPORTED.directMode))
}

/** Kinds of resource below databases that the service has and this gateway has not, by their part of the path. */
const KINDS: ReadonlyMap<string, NotSupported> = new Map([
  ['users', NOT_SUPPORTED.users],
  ['permissions', NOT_SUPPORTED.permissions],
  ['clientencryptionkeys', NOT_SUPPORTED.clientEncryptionKeys],
  ['attachments', NOT_SUPPORTED.attachments],
])

/** @throws ERR_UNSUPPORTED_REQUEST for the path of such a kind */
export function refuseUnsupportedKind({ segments }: ResourcePath): void {
  // The innermost one is meant: permissions are below users.
  const kind = segments.findLast((part, at) => at > 1 && at % 2 === 0 && KINDS.has(part))
  const refused = KINDS.get(kind ?? '')
  if (refused !== undefined) throw new UnsupportedRequestError(refusalOf(refused))
}
