import type { IncomingMessage, ServerResponse } from 'node:http'

/** Both sides of one exchange of Node's HTTP server. */
export interface NodeBindings {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** Called as soon as the signature is found right, with its key if that may only read. */
  readonly onAuthorized?: ((readOnlyKey: object | undefined) => void) | undefined
}
