import { CodedError } from './coded-error.ts'

/** This version of Node.js cannot run Tidemark. Nothing was opened. */
export class UnsupportedNodeError extends CodedError {
  override readonly name = 'UnsupportedNodeError'
  readonly code = 'ERR_NODE_UNSUPPORTED'
  readonly retryable = false
}
