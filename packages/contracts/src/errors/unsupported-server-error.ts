import { CodedError } from './coded-error.ts'

/**
 * The server is too old, is configured in a way that cannot hold a store, or is of another kind. Nothing was written.
 *
 * @remedy Use a server that `docs/engines.md` names, or change the setting that the message names.
 */
export class UnsupportedServerError extends CodedError {
  override readonly name = 'UnsupportedServerError'
  readonly code = 'ERR_SERVER_UNSUPPORTED'
  readonly retryable = false
}
