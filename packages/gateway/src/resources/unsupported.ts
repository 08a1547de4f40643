import { ResourceNotFoundError } from '@tidemark/contracts'
import { UnsupportedRequestError } from '../errors/unsupported-request-error.ts'
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
  return answerList(request, { rid: '', name, items: [] })
}

/** None of them is ever there: set-up code that looks, or deletes before it creates, is told so. */
export const findNothing: Operation = async ({ path }) => {
  throw new ResourceNotFoundError('document', `/${path.raw}`)
}

/** Stored procedures, triggers and functions are neither made nor run. */
export const refuseScripts: Operation = async ({ path }) => {
  throw new UnsupportedRequestError(
    `${path.segments[4] ?? ''} are not supported: use a transactional batch, or a change feed processor`,
  )
}
