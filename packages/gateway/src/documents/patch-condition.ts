import { UnsupportedRequestError } from '../errors/unsupported-request-error.ts'

/** Whether a patch is to happen, judged on the present version. */
export type DocumentCondition = (document: object) => boolean

/** @throws ERR_BAD_QUERY */
export function patchCondition(text: string): DocumentCondition {
  throw new UnsupportedRequestError(`the condition of a patch is not supported yet: ${text}`)
}
