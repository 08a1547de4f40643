import type { ManagementAnswer, ManagementContext, ManagementRequest } from './management-call.ts'

/** Performs an operation of section 4 of the wire facts. Never rejects: an error is an answer. */
export function performOperation(
  _request: ManagementRequest,
  _context: ManagementContext,
): Promise<ManagementAnswer> {
  throw new Error('not written yet')
}
