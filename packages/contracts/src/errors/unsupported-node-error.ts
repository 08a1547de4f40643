import { CodedError } from './coded-error.ts'

/**
 * This version of Node.js cannot run Tidemark. Nothing was opened.
 *
 * @remedy Install Node.js 22.18 or a later 22, or 24 or newer; the message names what is missing.
 */
export class UnsupportedNodeError extends CodedError {
  override readonly name = 'UnsupportedNodeError'
  readonly code = 'ERR_NODE_UNSUPPORTED'
  readonly retryable = false
}
